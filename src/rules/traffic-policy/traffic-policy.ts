import { fieldsOf, type PolicyAction, readAction, textsOf } from './actions.js';
import { type Expression, Expressions } from './expression.js';
import { readPolicyText } from './policy-text.js';
import { plainText } from './template.js';
import { UnreadablePolicy } from './unreadable-policy.js';

/** A traffic policy that was read: what its rules do when a TCP connection begins. */
export interface TrafficPolicy {
  /** False: it lets every connection in. */
  readonly enabled: boolean;
  /** The rules in their order. */
  readonly rules: readonly PolicyRule[];
  /** The ids of all IP policies that its actions name, each once. */
  readonly ipPolicyIds: readonly string[];
  /** Sentences about what can never decide, for checks. */
  readonly notes: readonly string[];
  /** About what it takes at most, for a cache of policies: some have many times their text. */
  readonly memoryBytes: number;
}

/** A rule: if all expressions are true, its actions happen in their order. */
export interface PolicyRule {
  /** Such as `on_tcp_connect[2]`. */
  readonly place: string;
  /** Its first 255 characters. */
  readonly name: string | undefined;
  readonly expressions: readonly Expression[];
  readonly actions: readonly { readonly action: PolicyAction; readonly place: string }[];
}

/** The most IP policies that a policy names. */
const MAX_NAMED_IP_POLICIES = 20;
const MAX_RULE_NAME = 255;
/** Measured: what a character, a value of JSON, an expression, a node of one and a state of a pattern take at most. */
const BYTES_OF = { character: 2, value: 100, expression: 400, node: 200, state: 96 };
/** The names of the rules; `inbound` is the older one. */
const OWN_PHASES = ['on_tcp_connect', 'inbound'];
/** Phases that a TCP connection does not go through. */
const OTHER_PHASES = ['on_http_request', 'on_http_response', 'outbound'];

/**
 * Reads a traffic policy in JSON or YAML. What this library does not apply is refused, since a rule that is left out may
 * be the one that denies. Throws UnreadablePolicy: the maxima bound the time to some milliseconds.
 */
export function readTrafficPolicy(text: string): TrafficPolicy {
  const read = readPolicyText(text);
  const document = fieldsOf(read.document, 'the policy', [...OWN_PHASES, ...OTHER_PHASES, 'enabled']);
  for (const phase of OTHER_PHASES) refuseRules(document[phase], phase);
  const { enabled = true } = document;
  if (typeof enabled !== 'boolean') throw new UnreadablePolicy('enabled', 'must be true or false.');
  const phases = OWN_PHASES.filter((phase) => document[phase] != null);
  if (phases.length > 1)
    throw new UnreadablePolicy('inbound', 'is the older name of on_tcp_connect; send one of them.');
  const [phase] = phases;
  const expressions = new Expressions();
  const rules = phase === undefined ? [] : readRules(document[phase], phase, expressions);
  const ids = rules.flatMap(({ actions }) =>
    actions.flatMap(({ action }) => (action.type === 'restrict-ips' ? action.ipPolicyIds : [])),
  );
  const ipPolicyIds = [...new Set(ids)];
  if (ipPolicyIds.length > MAX_NAMED_IP_POLICIES) {
    throw new UnreadablePolicy(
      'the policy',
      `names ${ipPolicyIds.length} IP policies; the maximum is ${MAX_NAMED_IP_POLICIES}.`,
    );
  }
  const { counts, sizes, notes } = expressions;
  const memoryBytes =
    text.length * BYTES_OF.character +
    read.values * BYTES_OF.value +
    counts.expressions * BYTES_OF.expression +
    sizes.nodes * BYTES_OF.node +
    sizes.states * BYTES_OF.state;
  return { enabled, rules, ipPolicyIds, notes, memoryBytes };
}

function refuseRules(rules: unknown, phase: string): void {
  if (rules == null || (Array.isArray(rules) && rules.length === 0)) return;
  throw new UnreadablePolicy(phase, 'has rules, but a TCP connection goes through on_tcp_connect only; leave it out.');
}

function readRules(value: unknown, phase: string, expressions: Expressions): PolicyRule[] {
  if (!Array.isArray(value)) throw new UnreadablePolicy(phase, 'must be a list of rules.');
  return value.map((rule, n) => readRule(rule, `${phase}[${n}]`, expressions));
}

function readRule(value: unknown, place: string, expressions: Expressions): PolicyRule {
  const { name, actions, ...rest } = fieldsOf(value, place, ['name', 'expressions', 'actions']);
  if (name != null && typeof name !== 'string') throw new UnreadablePolicy(`${place}.name`, 'must be a string.');
  if (!Array.isArray(actions) || actions.length === 0) {
    throw new UnreadablePolicy(`${place}.actions`, 'must be a list of one or more actions.');
  }
  return {
    place,
    name: name == null ? undefined : plainText(name.slice(0, MAX_RULE_NAME)),
    expressions: textsOf(rest.expressions, `${place}.expressions`).map((text, n) =>
      expressions.condition(text, `${place}.expressions[${n}]`),
    ),
    actions: actions.map((action, n) => {
      const at = `${place}.actions[${n}]`;
      return { action: readAction(action, at, expressions), place: at };
    }),
  };
}
