import { isIPv4, isIPv6 } from 'node:net';
import { domainToASCII } from 'node:url';

/**
 * One spelling for each host, so that two texts naming the same host are equal strings. Bind rules and hostports compare by it.
 * Nothing is resolved and nothing is repaired: a text that could be read as two hosts is refused.
 * Callers bound the length of what they pass in (512 bytes); the work here grows with it.
 */

/** Why a text names no host: a clause such as "the host has an empty label". Caught by callers, who name the field and value. */
export class Malformed extends Error {}

/** A port that is a whole number, but not one that can be used. */
export class PortOutOfRange extends Malformed {}

const MAX_LABEL_OCTETS = 63;
export const MAX_NAME_OCTETS = 253;
const MAX_PORT = 65_535;
const QUOTED_CHARACTERS = 200;

const IDEOGRAPHIC_DOTS = /[\u3002\uff0e\uff61]/g;
const FORBIDDEN_ASCII = /[^\w.\-\u{80}-\u{10ffff}]/u;
// IDNA drops these without a trace, so two texts that differ to a machine would be one host. The joiners it keeps or refuses.
const INVISIBLE = /(?!\u200c|\u200d)\p{Default_Ignorable_Code_Point}/u;
const NON_ASCII = /[^\0-\x7f]/;
const LABEL = /^[a-z0-9_-]+$/;
// What inet_aton, and so most programs, would read as an IPv4 address in disguise: 1, 0x7f.1, 010.0.0.1.
const ENDS_IN_NUMBER = /(?:^|\.)(?:\d+|0x[0-9a-f]*)$/;

/** `text` in single quotes for a message: at most 200 characters of it, with what a terminal or log would act on escaped. */
export function quoted(text: string): string {
  const characters = [...text.slice(0, 2 * QUOTED_CHARACTERS)];
  const shown = characters.slice(0, QUOTED_CHARACTERS).join('');
  const escaped = shown.replace(/[\p{Cc}\p{Cf}\p{Cs}\u2028\u2029]/gu, (character) => {
    return `\\u{${character.codePointAt(0)?.toString(16)}}`;
  });
  return `'${escaped}${shown.length < text.length ? '...' : ''}'`;
}

/** A DNS name or IPv4 address or `[IPv6]`, in its one spelling. */
export function canonicalHost(text: string): string {
  if (text.startsWith('[')) return canonicalIpv6(text);
  return isIPv4(text) ? text : canonicalName(text);
}

/**
 * A DNS name, never an address: lower case, without the one trailing dot, as A-labels. Single labels and underscores pass.
 * Names in ASCII never meet the Unicode tables, so what they mean cannot change with the version of node.
 */
export function canonicalName(text: string): string {
  const dotted = text.replace(IDEOGRAPHIC_DOTS, '.');
  const name = dotted.endsWith('.') ? dotted.slice(0, -1) : dotted;
  refuseSpelling(name);
  const canonical = NON_ASCII.test(name) ? encodeUnicode(name) : name.toLowerCase();
  if (canonical.length > MAX_NAME_OCTETS) {
    throw new Malformed(`the host is ${canonical.length} octets long; the most is ${MAX_NAME_OCTETS}`);
  }
  for (const label of canonical.split('.')) refuseLabel(label);
  if (ENDS_IN_NUMBER.test(canonical)) {
    throw new Malformed('the host ends in a number but is not four numbers from 0 to 255 without leading zeros');
  }
  return canonical;
}

/** What must not reach IDNA, because it would be decoded or cut off there instead of refused. */
function refuseSpelling(name: string): void {
  if (name === '') throw new Malformed('the host is empty');
  const stranger = FORBIDDEN_ASCII.exec(name)?.[0];
  if (stranger === undefined) return;
  const shown = stranger === "'" ? 'a quote' : quoted(stranger);
  throw new Malformed(`the host holds ${shown}; give a bare host name of letters, digits, '-', '_' and '.'`);
}

function encodeUnicode(name: string): string {
  if (INVISIBLE.test(name)) throw new Malformed('the host holds an invisible character');
  // Once encoded, the hyphen of '-ü' is hidden inside the A-label; NFKC also shows the fullwidth ones.
  name.normalize('NFKC').split('.').forEach(refuseEdgeHyphen);
  // The `.x` keeps node from reading the name as an IPv4 address (fullwidth digits would become one).
  const encoded = domainToASCII(`${name}.x`).slice(0, -2);
  if (encoded === '') throw new Malformed('the host holds characters that no DNS name can carry');
  return encoded;
}

function refuseLabel(label: string): void {
  if (label === '') throw new Malformed('the host has an empty label');
  if (label.length > MAX_LABEL_OCTETS) {
    throw new Malformed(`a label of the host is ${label.length} octets long; the most is ${MAX_LABEL_OCTETS}`);
  }
  if (!LABEL.test(label)) throw new Malformed('the host holds characters that no DNS name can carry');
  refuseEdgeHyphen(label);
}

function refuseEdgeHyphen(label: string): void {
  if (label.startsWith('-') || label.endsWith('-')) {
    throw new Malformed("a label of the host begins or ends with '-'");
  }
}

/** RFC 5952 spelling, in brackets. An IPv4-mapped address stays an IPv6 address: a host of its own, however it is spelled. */
function canonicalIpv6(text: string): string {
  const inner = text.endsWith(']') ? text.slice(1, -1) : '';
  // A zone names an interface of one machine, which means nothing on another.
  if (inner.includes('%')) throw new Malformed('an IPv6 address must not have a zone');
  if (!isIPv6(inner)) throw new Malformed('the brackets do not hold an IPv6 address');
  return new URL(`http://[${inner}]`).hostname;
}

/** Splits `host`, `host:port`, `[v6]` or `[v6]:port`; neither part is checked yet. */
export function splitPort(text: string): { readonly host: string; readonly port: string | undefined } {
  const match = /^(\[[^[\]]*\]|[^:]*)(?::([^:]*))?$/.exec(text);
  if (match === null) {
    throw new Malformed('only an IPv6 address holds more than one colon, and it needs brackets, as in [::1]:443');
  }
  return { host: match[1] ?? '', port: match[2] };
}

/** A port in its one spelling: decimal, no sign, no leading zeros. */
export function parsePort(text: string, least: 0 | 1): number {
  const range = `a whole number from ${least} to ${MAX_PORT}`;
  if (!/^-?\d+$/.test(text)) throw new Malformed(`the port must be ${range}`);
  const port = Number(text);
  if (port < least || port > MAX_PORT) throw new PortOutOfRange(`the port must be ${range}`);
  if (String(port) !== text) throw new Malformed('the port must be written without leading zeros');
  return port;
}
