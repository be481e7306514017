import { isJsonObject } from '../../kernel/json-object.js';
import { Problem, quoted } from '../../kernel/problem.js';
import { ParseError, parsePort, splitPort } from '../host-name.js';
import { parseHostPattern, refuseUnprintable } from './bind-rule.js';

/**
 * What a tunnel asks to bind. Hosts are canonical, with IPv6 in brackets; `name` and `host` may be a wildcard such as
 * `*.example.com`. Port 0 asks for a port of the gateway's choice.
 */
export type BindTarget =
  | { readonly kind: 'domain'; readonly name: string }
  /** Aliases are other addresses that the same listener takes: rules do not decide about them. */
  | (Address & { readonly kind: 'address'; readonly aliases?: readonly Address[] })
  | { readonly kind: 'label'; readonly key: string; readonly value: string };

interface Address {
  readonly host: string;
  readonly port: number;
}

/** No rule is longer, so a longer target could not match. */
const MAX_TARGET_BYTES = 512;
/** A listener has an address for each name of its host at most. They are in one question, since the oldest reservation decides. */
export const MAX_ALIASES = 1_000;
const KINDS = ['domain', 'address', 'label'] as const;

/**
 * Reads `{domain}`, `{address: 'host:port'}` or `{label: {key, value}}`; null and undefined members count as absent.
 * Throws acl_rule_invalid for a request that it cannot read: a guess could permit too much.
 */
export function parseBindTarget(request: unknown): BindTarget {
  const members = membersOf(request);
  const [kind, ...others] = KINDS.filter((name) => members[name] !== undefined && members[name] !== null);
  if (kind === undefined || others.length > 0) throw invalid(`a bind request names one of ${KINDS.join(', ')}.`);
  if (kind === 'label') return readLabel(membersOf(members.label));
  if (kind === 'domain') return readDomain(text(members, kind));
  const aliases = readAliases(members.aliases);
  const address = { kind, ...readAddress(text(members, kind)) } as const;
  return aliases.length === 0 ? address : { ...address, aliases };
}

/** Reads a target as people write it: `app.example.com`, `app.example.com:443` or `team=blue`. */
export function parseTargetText(text: string): BindTarget {
  // A host name cannot contain '=', so the sign marks a label, as in a rule.
  const at = text.indexOf('=');
  if (at >= 0) return parseBindTarget({ label: { key: text.slice(0, at), value: text.slice(at + 1) } });
  const hasPort = /:[^\]]*$/.test(text);
  return parseBindTarget(hasPort ? { address: text } : { domain: text });
}

function readDomain(domain: string): BindTarget {
  return inContext('domain', domain, () => {
    const name = hostText(domain);
    // An address must name a port; as a domain it would slip past every rule with a port.
    if (/^\[|\.\d+$/.test(name)) throw new ParseError('it is an address; ask for it as address, with a port');
    return { kind: 'domain', name };
  });
}

function readAliases(aliases: unknown): readonly Address[] {
  if (aliases === undefined || aliases === null) return [];
  if (!Array.isArray(aliases) || aliases.length > MAX_ALIASES || !aliases.every((one) => typeof one === 'string')) {
    throw invalid(`aliases must be a list of at most ${MAX_ALIASES} addresses.`);
  }
  return aliases.map((_, n) => readAddress(text(aliases as unknown as Readonly<Record<string, unknown>>, `${n}`)));
}

function readAddress(address: string): Address {
  return inContext('address', address, () => {
    const { host, port } = splitPort(address);
    if (port === undefined) throw new ParseError("it has no port, as in 'app.example.com:443'");
    return { host: hostText(host), port: parsePort(port, 0) };
  });
}

/** A `*` in a requested label is an ordinary character, and only a rule with `*` in that place covers it. */
function readLabel(label: Readonly<Record<string, unknown>>): BindTarget {
  const [key, value] = [text(label, 'key'), text(label, 'value')];
  return inContext('label', `${key}=${value}`, () => {
    if (key === '') throw new ParseError('the label key is empty');
    refuseUnprintable(key);
    refuseUnprintable(value);
    return { kind: 'label', key, value };
  });
}

function hostText(raw: string): string {
  const { pattern, host } = parseHostPattern(raw);
  return pattern === 'suffix' ? `*.${host}` : host;
}

const membersOf = (value: unknown): Readonly<Record<string, unknown>> => (isJsonObject(value) ? value : {});

function text(from: Readonly<Record<string, unknown>>, name: string): string {
  const value = from[name];
  if (typeof value !== 'string') throw invalid(`${name} must be a string.`);
  const bytes = Buffer.byteLength(value);
  if (bytes <= MAX_TARGET_BYTES) return value;
  throw invalid(`${name} ${quoted(value)} is ${bytes} bytes long; the maximum is ${MAX_TARGET_BYTES}.`);
}

function inContext<Read>(field: string, value: string, read: () => Read): Read {
  try {
    return read();
  } catch (error) {
    if (!(error instanceof ParseError)) throw error;
    throw invalid(`${field} ${quoted(value)} cannot be bound: ${error.message}.`);
  }
}

const invalid = (sentence: string): Problem => new Problem('acl_rule_invalid', sentence);
