import { Problem } from '../problem.js';
import { type BindRule, type DomainRule, type LabelRule, parseBindRule } from './bind-rule.js';
import type { BindTarget } from './bind-target.js';

export { type BindRule, parseBindRule } from './bind-rule.js';
export { type BindTarget, parseBindTarget } from './bind-target.js';

export const MAX_RULES = 1000;
export const MAX_ACL_BYTES = 65_536;

/** Checks every rule and returns them as written: order, spelling and duplicates are the caller's. Throws acl_rule_invalid. */
export function parseAcl(acl: readonly unknown[]): readonly string[] {
  if (acl.length > MAX_RULES) {
    throw new Problem('acl_rule_invalid', `acl has ${acl.length} rules; the most is ${MAX_RULES}.`);
  }
  acl.forEach(parseBindRule);
  const rules = acl.filter((rule) => typeof rule === 'string');
  const bytes = rules.reduce((sum, rule) => sum + Buffer.byteLength(rule), 0);
  if (bytes <= MAX_ACL_BYTES) return rules;
  throw new Problem('acl_rule_invalid', `acl is ${bytes} bytes long in all; the most is ${MAX_ACL_BYTES}.`);
}

/** A rule's place in the ACL. Where several rules match, the lowest counts; `NONE` is past any ACL (and still a small integer). */
type Place = number;
const NONE: Place = 2 ** 30 - 1;

/** The rules of one host, by how they speak of its port. */
interface HostRules {
  withoutPort: Place;
  withAnyPort: Place;
  readonly withPort: Map<number, Place>;
}

interface LabelRules {
  any: Place;
  readonly byKey: Map<string, Place>;
  readonly byValue: Map<string, Place>;
  readonly byKeyAndValue: Map<string, Map<string, Place>>;
}

/** An ACL made ready for `permits`, which alone looks inside. Its cost is one parse of every rule: keep it while the ACL stands. */
export interface CompiledAcl {
  readonly rules: readonly string[];
  everything: Place;
  readonly exact: Map<string, HostRules>;
  readonly suffix: Map<string, HostRules>;
  readonly labels: LabelRules;
}

export interface Verdict {
  readonly permitted: boolean;
  /** The first rule of the ACL that covers the target, as written; null when the ACL is empty or no rule does. */
  readonly matchedRule: string | null;
}

/** Of an ACL that `parseAcl` accepted; any other throws rather than losing a rule. */
export function compile(acl: readonly string[]): CompiledAcl {
  const labels = { any: NONE, byKey: new Map(), byValue: new Map(), byKeyAndValue: new Map() };
  const compiled = { rules: [...acl], everything: NONE, exact: new Map(), suffix: new Map(), labels };
  // From last to first, so that of equal rules the first is what stays.
  for (let place = acl.length - 1; place >= 0; place -= 1) enter(compiled, parseBindRule(acl[place], place), place);
  return compiled;
}

function enter(compiled: CompiledAcl, rule: BindRule, place: Place): void {
  if (rule.kind === 'everything') compiled.everything = place;
  else if (rule.kind === 'domain') enterDomain(compiled[rule.pattern], rule, place);
  else enterLabel(compiled.labels, rule, place);
}

function enterDomain(hosts: Map<string, HostRules>, { host, port }: DomainRule, place: Place): void {
  const rules = hosts.get(host) ?? { withoutPort: NONE, withAnyPort: NONE, withPort: new Map() };
  hosts.set(host, rules);
  if (port === undefined) rules.withoutPort = place;
  else if (port === '*') rules.withAnyPort = place;
  else rules.withPort.set(port, place);
}

function enterLabel(labels: LabelRules, { key, value }: LabelRule, place: Place): void {
  if (key === '*' && value === '*') labels.any = place;
  else if (key === '*') labels.byValue.set(value, place);
  else if (value === '*') labels.byKey.set(key, place);
  else labels.byKeyAndValue.set(key, (labels.byKeyAndValue.get(key) ?? new Map()).set(value, place));
}

/**
 * Whether the ACL lets a tunnel bind `target`, at a cost that grows with the labels of the name, not with the rules.
 * The rule named is the first in the ACL's own order: it is the line a person finds reading from the top, and it does
 * not depend on which kinds of rule count as more specific.
 */
export function permits(compiled: CompiledAcl, target: BindTarget): Verdict {
  if (compiled.rules.length === 0) return { permitted: true, matchedRule: null };
  const place = Math.min(compiled.everything, firstOfKind(compiled, target));
  // NONE is not used as an index: far out of bounds would take a slow path, for every refusal.
  const matchedRule = place === NONE ? null : (compiled.rules[place] ?? null);
  return { permitted: matchedRule !== null, matchedRule };
}

function firstOfKind(compiled: CompiledAcl, target: BindTarget): Place {
  if (target.kind === 'label') return firstForLabel(compiled.labels, target.key, target.value);
  if (target.kind === 'domain') return firstForHost(compiled, target.name, 0);
  return firstForHost(compiled, target.host, target.port);
}

function firstForLabel(labels: LabelRules, key: string, value: string): Place {
  return Math.min(
    labels.any,
    labels.byKey.get(key) ?? NONE,
    labels.byValue.get(value) ?? NONE,
    labels.byKeyAndValue.get(key)?.get(value) ?? NONE,
  );
}

/** Suffixes are what follows each dot, so a wildcard request (`*.a.b`) is covered by `*.a.b` and wider, and by no exact rule. */
function firstForHost({ exact, suffix }: CompiledAcl, host: string, port: number): Place {
  let first = firstForPort(exact.get(host), port);
  for (let dot = host.indexOf('.'); dot >= 0; dot = host.indexOf('.', dot + 1)) {
    first = Math.min(first, firstForPort(suffix.get(host.slice(dot + 1)), port));
  }
  return first;
}

/**
 * A request that names no port (a domain, or port 0 for a random one) needs a rule that names none: whoever was given
 * ports was given addresses they must name, not the whole host and not whatever port the gateway picks.
 */
function firstForPort(rules: HostRules | undefined, port: number): Place {
  if (rules === undefined) return NONE;
  if (port === 0) return rules.withoutPort;
  return Math.min(rules.withoutPort, rules.withAnyPort, rules.withPort.get(port) ?? NONE);
}
