import { Problem, quoted } from '../../kernel/problem.js';
import { canonicalHost, canonicalName, MAX_NAME_OCTETS, ParseError, parsePort, splitPort } from '../host-name.js';

/** The grammar of one rule of an ACL. acl.ts says what a rule permits. */

/** A host in a rule or a request: the host itself, or every name under it (`suffix`). `host` is without the `*.`. */
interface HostPattern {
  readonly pattern: 'exact' | 'suffix';
  /** Canonical; an IPv6 address is in brackets. */
  readonly host: string;
}

/** A rule without `port` covers the whole host; `'*'` covers every port that a request names. */
export interface DomainRule extends HostPattern {
  readonly kind: 'domain';
  readonly port?: number | '*';
}

/** `'*'` is any key or value; a rule cannot mean a literal `*`. */
export interface LabelRule {
  readonly kind: 'label';
  readonly key: string;
  readonly value: string;
}

/** A port at any host, from 1 on. */
interface PortRule {
  readonly kind: 'port';
  readonly port: number;
}

/** A rule as it was read: everything, a domain, a port, or a label. */
export type BindRule = { readonly kind: 'everything' } | DomainRule | PortRule | LabelRule;

/** The most bytes of one rule. */
export const MAX_RULE_BYTES = 512;
const PREFIX = 'bind:';
const WILDCARD = '*.';
const URL_SCHEME = /^[a-z][a-z0-9+.-]*:\/\//i;

/** Parses one rule of an ACL. Throws acl_rule_invalid with a message that quotes the rule and names its index. */
export function parseBindRule(rule: unknown, index: number): BindRule {
  if (typeof rule !== 'string') {
    throw new Problem('acl_rule_invalid', `acl[${index}] must be a string such as 'bind:app.example.com'.`);
  }
  const bytes = Buffer.byteLength(rule);
  if (bytes > MAX_RULE_BYTES) {
    const sentence = `acl[${index}] ${quoted(rule)} is ${bytes} bytes long; the maximum is ${MAX_RULE_BYTES}.`;
    throw new Problem('acl_rule_invalid', sentence);
  }
  try {
    return readRule(rule);
  } catch (error) {
    if (!(error instanceof ParseError)) throw error;
    throw new Problem('acl_rule_invalid', `acl[${index}] ${quoted(rule)} is not a bind rule: ${error.message}.`);
  }
}

function readRule(rule: string): BindRule {
  if (rule === '*') return { kind: 'everything' };
  if (!rule.startsWith(PREFIX)) throw new ParseError(mistaken(rule) ?? "a rule is '*' or begins with 'bind:'");
  const target = rule.slice(PREFIX.length);
  if (target === '') throw new ParseError("the rule ends after 'bind:'");
  refuseUnprintable(target);
  if (target === '*') return { kind: 'everything' };
  // A host name cannot contain '=', so the sign marks a label.
  return target.includes('=') ? readLabelRule(target) : readDomainRule(target);
}

/** What a text is that people send as a rule. */
function mistaken(rule: string): string | undefined {
  if (/^\s*["'].*["']\s*$/.test(rule)) return 'it is in quotes; write it without them';
  if (/^permit(listen|open)\b/i.test(rule))
    return "it is an option of authorized_keys; write 'bind:HOST:PORT', or 'bind:*:PORT' for any host";
  if (/^(\/|~|\.\.?\/)/.test(rule)) return "it is a path; a rule names what may be bound, as in 'bind:app.example.com'";
  if (/^[{[]/.test(rule)) return "it is JSON; a rule is a text such as 'bind:app.example.com'";
  if (/^bind\s|^bind[\p{P}\p{S}]/iu.test(rule)) return "it begins with another spelling of 'bind:'";
  return undefined;
}

function readLabelRule(target: string): LabelRule {
  const at = target.indexOf('=');
  const key = target.slice(0, at);
  const value = target.slice(at + 1);
  if (key === '') throw new ParseError('the label key is empty');
  for (const part of [key, value]) {
    if (part !== '*' && part.includes('*')) throw new ParseError("'*' must be the whole label key or the whole value");
  }
  return { kind: 'label', key, value };
}

function readDomainRule(target: string): DomainRule | PortRule {
  if (URL_SCHEME.test(target))
    throw new ParseError("it holds a URL; write the host alone, as in 'bind:app.example.com'");
  if (/^\d+$/.test(target))
    throw new ParseError(`it is a port alone; write 'bind:*:${target}' for it at any host, or 'bind:HOST:${target}'`);
  if (target.startsWith('/')) throw new ParseError("it is a path; write the host alone, as in 'bind:app.example.com'");
  const { host, port } = splitPort(target);
  if (host === '*' && port === '*') throw new ParseError("write 'bind:*' for everything");
  if (host === '*' && port !== undefined) return { kind: 'port', port: parsePort(port, 1) };
  const rule = { kind: 'domain', ...parseHostPattern(host) } as const;
  if (port === undefined) return rule;
  return { ...rule, port: port === '*' ? port : parsePort(port, 1) };
}

/** Reads a host, or a name after `*.`. Rules and requests both use it, so they have the same spelling of a host. */
export function parseHostPattern(text: string): HostPattern {
  if (!text.startsWith(WILDCARD)) {
    if (text.includes('*')) throw new ParseError("'*' may stand alone or as a leading '*.' only");
    return { pattern: 'exact', host: canonicalHost(text) };
  }
  const suffix = text.slice(WILDCARD.length);
  if (suffix.includes('*')) throw new ParseError("'*' may stand alone or as a leading '*.' only");
  const host = canonicalName(suffix);
  if (WILDCARD.length + host.length > MAX_NAME_OCTETS) {
    throw new ParseError(`the host is ${WILDCARD.length + host.length} octets long; the maximum is ${MAX_NAME_OCTETS}`);
  }
  return { pattern: 'suffix', host };
}

/** Refuses characters that a person cannot see or that UTF-8 cannot store, because labels are compared as written. */
export function refuseUnprintable(text: string): void {
  if (!text.isWellFormed()) throw new ParseError('it is not well-formed Unicode');
  if (/\p{Cc}/u.test(text)) throw new ParseError('it holds a control character');
}
