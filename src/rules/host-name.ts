import { isIPv4, isIPv6 } from 'node:net';
import { domainToASCII } from 'node:url';
import { quoted } from '../kernel/problem.js';

/**
 * Gives each host one spelling, because bind rules and hostports compare hosts as strings. A text that could mean two
 * hosts is refused, never resolved or repaired. Callers limit texts to 512 bytes, since the work grows with the length.
 */

/** Why a text cannot be read, such as "the host has an empty label". Callers catch it and add field and value. */
export class ParseError extends Error {}

/** The port is a whole number outside of the range of ports. */
export class PortOutOfRange extends ParseError {}

const MAX_LABEL_OCTETS = 63;
/** Of a host name, without a dot at its end. RFC 1035, section 2.3.4. */
export const MAX_NAME_OCTETS = 253;
const MAX_PORT = 65_535;

const IDEOGRAPHIC_DOTS = /[\u3002\uff0e\uff61]/g;
const FORBIDDEN_ASCII = /[^\w.\-\u{80}-\u{10ffff}]/u;
// IDNA drops these characters, so two different texts would be one host. It never drops the joiners.
const INVISIBLE = /(?!\u200c|\u200d)\p{Default_Ignorable_Code_Point}/u;
const NON_ASCII = /[^\0-\x7f]/;
const LABEL = /^[a-z0-9_-]+$/;
// inet_aton, and thus most programs, read such a name as an IPv4 address: 1, 0x7f.1, 010.0.0.1.
const ENDS_IN_NUMBER = /(?:^|\.)(?:\d+|0x[0-9a-f]*)$/;

/** The canonical spelling of a DNS name, an IPv4 address or an `[IPv6]` address. Throws ParseError. */
export function canonicalHost(text: string): string {
  if (text.startsWith('[')) return canonicalIpv6(text);
  return isIPv4(text) ? text : canonicalName(text);
}

/**
 * The canonical spelling of a DNS name, never an address: lower case, A-labels, without one trailing dot. Single labels
 * and underscores are allowed. ASCII names bypass the Unicode tables, so a new version of node cannot change them.
 */
export function canonicalName(text: string): string {
  const dotted = text.replace(IDEOGRAPHIC_DOTS, '.');
  const name = dotted.endsWith('.') ? dotted.slice(0, -1) : dotted;
  refuseSpelling(name);
  const canonical = NON_ASCII.test(name) ? encodeUnicode(name) : name.toLowerCase();
  if (canonical.length > MAX_NAME_OCTETS) {
    throw new ParseError(`the host is ${canonical.length} octets long; the maximum is ${MAX_NAME_OCTETS}`);
  }
  for (const label of canonical.split('.')) refuseLabel(label);
  if (ENDS_IN_NUMBER.test(canonical)) {
    throw new ParseError('the host ends in a number but is not four numbers from 0 to 255 without leading zeros');
  }
  return canonical;
}

/** Refuses characters that IDNA would decode or cut off instead of refusing. */
function refuseSpelling(name: string): void {
  if (name === '') throw new ParseError('the host is empty');
  const forbidden = FORBIDDEN_ASCII.exec(name)?.[0];
  if (forbidden === undefined) return;
  const character = forbidden === "'" ? 'a quote' : quoted(forbidden);
  throw new ParseError(`the host holds ${character}; give a bare host name of letters, digits, '-', '_' and '.'`);
}

function encodeUnicode(name: string): string {
  if (INVISIBLE.test(name)) throw new ParseError('the host holds an invisible character');
  // Encoding hides the hyphen of '-ü' inside the A-label, so check before. NFKC turns fullwidth hyphens into '-'.
  name.normalize('NFKC').split('.').forEach(refuseEdgeHyphen);
  // Without `.x`, node would read a name of fullwidth digits as an IPv4 address.
  const encoded = domainToASCII(`${name}.x`).slice(0, -2);
  if (encoded === '') throw new ParseError('the host holds characters that no DNS name can carry');
  return encoded;
}

function refuseLabel(label: string): void {
  if (label === '') throw new ParseError('the host has an empty label');
  if (label.length > MAX_LABEL_OCTETS) {
    throw new ParseError(`a label of the host is ${label.length} octets long; the maximum is ${MAX_LABEL_OCTETS}`);
  }
  if (!LABEL.test(label)) throw new ParseError('the host holds characters that no DNS name can carry');
  refuseEdgeHyphen(label);
}

function refuseEdgeHyphen(label: string): void {
  if (label.startsWith('-') || label.endsWith('-')) {
    throw new ParseError("a label of the host begins or ends with '-'");
  }
}

/** RFC 5952 spelling, in brackets. An IPv4-mapped address stays an IPv6 address, distinct from the IPv4 address. */
function canonicalIpv6(text: string): string {
  const inner = text.endsWith(']') ? text.slice(1, -1) : '';
  // A zone names an interface of one machine; other machines cannot interpret it.
  if (inner.includes('%')) throw new ParseError('an IPv6 address must not have a zone');
  if (!isIPv6(inner)) throw new ParseError('the brackets do not hold an IPv6 address');
  return new URL(`http://[${inner}]`).hostname;
}

/** Splits `host`, `host:port`, `[v6]` or `[v6]:port`. Checks neither part. */
export function splitPort(text: string): { readonly host: string; readonly port: string | undefined } {
  const match = /^(\[[^[\]]*\]|[^:]*)(?::([^:]*))?$/.exec(text);
  if (match === null) {
    throw new ParseError('only an IPv6 address holds more than one colon, and it needs brackets, as in [::1]:443');
  }
  return { host: match[1] ?? '', port: match[2] };
}

/** Parses a decimal port without sign or leading zeros. Port 0, which `min` may allow, means a random port. */
export function parsePort(text: string, min: 0 | 1): number {
  const range = `a whole number from ${min} to ${MAX_PORT}`;
  if (!/^-?\d+$/.test(text)) throw new ParseError(`the port must be ${range}`);
  const port = Number(text);
  if (port < min || port > MAX_PORT) throw new PortOutOfRange(`the port must be ${range}`);
  if (String(port) !== text) throw new ParseError('the port must be written without leading zeros');
  return port;
}
