import {
  canonicalHost,
  canonicalName,
  MAX_NAME_OCTETS,
  Malformed,
  parsePort,
  quoted,
  splitPort,
} from '../host-name.js';
import { Problem } from '../problem.js';

/** The grammar of one line of an ACL. What a rule permits is in acl.ts. */

/** A host as rules and requests may name it: itself, or (`suffix`) every name under it. `host` never carries the `*.`. */
export interface HostPattern {
  readonly pattern: 'exact' | 'suffix';
  /** Canonical; an IPv6 address is in brackets. */
  readonly host: string;
}

/** A rule without `port` covers the host whole; `'*'` covers every port a request names. */
export interface DomainRule extends HostPattern {
  readonly kind: 'domain';
  readonly port?: number | '*';
}

/** `'*'` stands for any key or value; it cannot be meant literally. */
export interface LabelRule {
  readonly kind: 'label';
  readonly key: string;
  readonly value: string;
}

export type BindRule = { readonly kind: 'everything' } | DomainRule | LabelRule;

export const MAX_RULE_BYTES = 512;
const PREFIX = 'bind:';
const WILDCARD = '*.';

/** Throws acl_rule_invalid, naming the rule's place in the ACL and quoting it. */
export function parseBindRule(rule: unknown, index: number): BindRule {
  if (typeof rule !== 'string') {
    throw new Problem('acl_rule_invalid', `acl[${index}] must be a string such as 'bind:app.example.com'.`);
  }
  const bytes = Buffer.byteLength(rule);
  if (bytes > MAX_RULE_BYTES) {
    const sentence = `acl[${index}] ${quoted(rule)} is ${bytes} bytes long; the most is ${MAX_RULE_BYTES}.`;
    throw new Problem('acl_rule_invalid', sentence);
  }
  try {
    return readRule(rule);
  } catch (error) {
    if (!(error instanceof Malformed)) throw error;
    throw new Problem('acl_rule_invalid', `acl[${index}] ${quoted(rule)} is not a bind rule: ${error.message}.`);
  }
}

function readRule(rule: string): BindRule {
  if (rule === '*') return { kind: 'everything' };
  if (!rule.startsWith(PREFIX)) throw new Malformed("a rule is '*' or begins with 'bind:'");
  const target = rule.slice(PREFIX.length);
  if (target === '') throw new Malformed("nothing follows 'bind:'");
  refuseUnprintable(target);
  if (target === '*') return { kind: 'everything' };
  // No host name holds '=', so the sign alone tells a label.
  return target.includes('=') ? readLabelRule(target) : readDomainRule(target);
}

function readLabelRule(target: string): LabelRule {
  const at = target.indexOf('=');
  const key = target.slice(0, at);
  const value = target.slice(at + 1);
  if (key === '') throw new Malformed('the label key is empty');
  for (const part of [key, value]) {
    if (part !== '*' && part.includes('*')) throw new Malformed("'*' must be the whole label key or the whole value");
  }
  return { kind: 'label', key, value };
}

function readDomainRule(target: string): DomainRule {
  const { host, port } = splitPort(target);
  const rule = { kind: 'domain', ...parseHostPattern(host) } as const;
  if (port === undefined) return rule;
  return { ...rule, port: port === '*' ? port : parsePort(port, 1) };
}

/** A host, or `*.` before a name; requests are read by the same function, so both sides are compared in one spelling. */
export function parseHostPattern(text: string): HostPattern {
  if (!text.startsWith(WILDCARD)) {
    if (text.includes('*')) throw new Malformed("'*' may stand alone or as a leading '*.' only");
    return { pattern: 'exact', host: canonicalHost(text) };
  }
  const suffix = text.slice(WILDCARD.length);
  if (suffix.includes('*')) throw new Malformed("'*' may stand alone or as a leading '*.' only");
  const host = canonicalName(suffix);
  if (WILDCARD.length + host.length > MAX_NAME_OCTETS) {
    throw new Malformed(`the host is ${WILDCARD.length + host.length} octets long; the most is ${MAX_NAME_OCTETS}`);
  }
  return { pattern: 'suffix', host };
}

/** Labels are compared as they are; what cannot be shown, or stored as UTF-8, cannot be compared by a person either. */
export function refuseUnprintable(text: string): void {
  if (!text.isWellFormed()) throw new Malformed('it is not well-formed Unicode');
  if (/\p{Cc}/u.test(text)) throw new Malformed('it holds a control character');
}
