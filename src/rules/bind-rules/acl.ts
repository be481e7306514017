import { Problem } from '../../kernel/problem.js';
import { type BindRule, type DomainRule, type LabelRule, parseBindRule } from './bind-rule.js';
import type { BindTarget } from './bind-target.js';

/** The most rules of an ACL. */
export const MAX_RULES = 1000;
/** The most bytes of all rules of an ACL together. */
export const MAX_ACL_BYTES = 65_536;

/** Checks every rule and returns the rules as written, in order and with duplicates. Throws acl_rule_invalid. */
export function parseAcl(acl: readonly unknown[]): readonly string[] {
  if (acl.length > MAX_RULES) {
    throw new Problem('acl_rule_invalid', `acl has ${acl.length} rules; the maximum is ${MAX_RULES}.`);
  }
  acl.forEach(parseBindRule);
  const rules = acl.filter((rule) => typeof rule === 'string');
  const bytes = rules.reduce((sum, rule) => sum + Buffer.byteLength(rule), 0);
  if (bytes <= MAX_ACL_BYTES) return rules;
  throw new Problem('acl_rule_invalid', `acl is ${bytes} bytes long in all; the maximum is ${MAX_ACL_BYTES}.`);
}

/** The index of a rule in its ACL. If several rules match, the lowest index wins. */
type RuleIndex = number;
/** Stands for no rule. It is greater than any index, so `Math.min` takes it only if no rule matches. */
const NONE: RuleIndex = 2 ** 30 - 1;

/** The rules of one host, by their port. */
interface HostRules {
  withoutPort: RuleIndex;
  withAnyPort: RuleIndex;
  readonly withPort: Map<number, RuleIndex>;
}

interface LabelRules {
  any: RuleIndex;
  readonly byKey: Map<string, RuleIndex>;
  readonly byValue: Map<string, RuleIndex>;
  readonly byKeyAndValue: Map<string, Map<string, RuleIndex>>;
}

/** An ACL that is indexed for `permits`. It must be compiled again when the ACL changes. */
export interface CompiledAcl {
  readonly rules: readonly string[];
  everything: RuleIndex;
  readonly exact: Map<string, HostRules>;
  readonly suffix: Map<string, HostRules>;
  /** Ports at any host. */
  readonly ports: Map<number, RuleIndex>;
  readonly labels: LabelRules;
}

interface Verdict {
  readonly permitted: boolean;
  /** The first rule of the ACL that covers the target, as written; null if the ACL is empty or no rule covers it. */
  readonly matchedRule: string | null;
  /** Its index in the ACL. */
  readonly ruleIndex: number | null;
}

/**
 * Compiles an ACL that `parseAcl` accepted. Throws on any other ACL, because dropping a rule would change what it
 * permits.
 */
export function compile(acl: readonly string[]): CompiledAcl {
  const parsed = acl.map(parseBindRule);
  const labels = { any: NONE, byKey: new Map(), byValue: new Map(), byKeyAndValue: new Map() };
  const made = { rules: [...acl], everything: NONE, exact: new Map(), suffix: new Map(), ports: new Map(), labels };
  // From last to first, so that the first of equal rules overwrites the others.
  for (const [n, rule] of parsed.toReversed().entries()) addRule(made, rule, parsed.length - 1 - n);
  return made;
}

function addRule(compiled: CompiledAcl, rule: BindRule, index: RuleIndex): void {
  if (rule.kind === 'everything') compiled.everything = index;
  else if (rule.kind === 'port') compiled.ports.set(rule.port, index);
  else if (rule.kind === 'domain') addDomainRule(compiled[rule.pattern], rule, index);
  else addLabelRule(compiled.labels, rule, index);
}

function addDomainRule(hosts: Map<string, HostRules>, { host, port }: DomainRule, index: RuleIndex): void {
  const rules = hosts.get(host) ?? { withoutPort: NONE, withAnyPort: NONE, withPort: new Map() };
  hosts.set(host, rules);
  if (port === undefined) rules.withoutPort = index;
  else if (port === '*') rules.withAnyPort = index;
  else rules.withPort.set(port, index);
}

function addLabelRule(labels: LabelRules, { key, value }: LabelRule, index: RuleIndex): void {
  if (key === '*' && value === '*') labels.any = index;
  else if (key === '*') labels.byValue.set(value, index);
  else if (value === '*') labels.byKey.set(key, index);
  else labels.byKeyAndValue.set(key, (labels.byKeyAndValue.get(key) ?? new Map()).set(value, index));
}

/**
 * Whether the ACL permits a tunnel to bind `target`. `matchedRule` is the first match in the ACL's order, so a person
 * who reads the ACL from the top finds the same rule.
 */
export function permits(compiled: CompiledAcl, target: BindTarget): Verdict {
  if (compiled.rules.length === 0) return { permitted: true, matchedRule: null, ruleIndex: null };
  const index = Math.min(compiled.everything, firstOfKind(compiled, target));
  if (index === NONE) return { permitted: false, matchedRule: null, ruleIndex: null };
  return { permitted: true, matchedRule: compiled.rules[index] ?? null, ruleIndex: index };
}

function firstOfKind(compiled: CompiledAcl, target: BindTarget): RuleIndex {
  if (target.kind === 'label') return firstForLabel(compiled.labels, target.key, target.value);
  if (target.kind === 'domain') return firstForHost(compiled, target.name, 0);
  return firstForHost(compiled, target.host, target.port);
}

function firstForLabel(labels: LabelRules, key: string, value: string): RuleIndex {
  return Math.min(
    labels.any,
    labels.byKey.get(key) ?? NONE,
    labels.byValue.get(value) ?? NONE,
    labels.byKeyAndValue.get(key)?.get(value) ?? NONE,
  );
}

/**
 * Looks up what follows each dot as a suffix. A request for `*.a.b` is covered only by `*.a.b` and by wider suffix
 * rules.
 */
function firstForHost({ exact, suffix, ports }: CompiledAcl, host: string, port: number): RuleIndex {
  let first = Math.min(ports.get(port) ?? NONE, firstForPort(exact.get(host), port));
  for (let dot = host.indexOf('.'); dot >= 0; dot = host.indexOf('.', dot + 1)) {
    first = Math.min(first, firstForPort(suffix.get(host.slice(dot + 1)), port));
  }
  return first;
}

/**
 * A request without a port (a domain, or port 0 for a random one) needs a rule without a port. A rule with a port
 * grants only the ports that the client names: neither the whole host nor a port that the gateway chooses.
 */
function firstForPort(rules: HostRules | undefined, port: number): RuleIndex {
  if (rules === undefined) return NONE;
  if (port === 0) return rules.withoutPort;
  return Math.min(rules.withoutPort, rules.withAnyPort, rules.withPort.get(port) ?? NONE);
}
