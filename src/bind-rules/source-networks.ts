import { isIPv4, isIPv6 } from 'node:net';
import { canonicalHost } from '../host-name.js';
import { Problem, type ProblemName, quoted } from '../problem.js';

/** The networks that tunnels may come from, and the addresses that they do come from. */

export const MAX_CIDRS = 100;

/** An address as a number. An IPv4-mapped IPv6 address is its IPv4 address, as for sshd. */
interface Address {
  readonly bits: 32 | 128;
  readonly value: bigint;
}

/** A network; `value` is the number of its prefix. */
export interface Network extends Address {
  /** The number of bits after the prefix. */
  readonly hostBits: bigint;
}

const MAPPED_PREFIX = 0xffffn;
const MAPPED_BITS = 96;

/**
 * Checks networks and addresses, and returns them in canonical form, each once: `192.0.2.0/24`, `2001:db8::/32`, and `/32`
 * or `/128` for an address. Throws request_malformed.
 */
export function parseCidrs(cidrs: readonly unknown[] | undefined): readonly string[] {
  if (cidrs === undefined || cidrs.length === 0) {
    throw malformed('cidrs is missing or empty; send 1 or more networks. DELETE removes the restriction.');
  }
  if (cidrs.length > MAX_CIDRS) throw malformed(`cidrs has ${cidrs.length} items; the maximum is ${MAX_CIDRS}.`);
  return [...new Set(cidrs.map((text, n) => parseCidr(text, `cidrs[${n}]`)))];
}

/** The canonical form of one network or address. `hostBits` names the refusal of bits after the prefix. */
export function parseCidr(text: unknown, field: string, hostBits: ProblemName = 'request_malformed'): string {
  if (typeof text !== 'string') throw malformed(`${field} must be a string.`);
  const [, host = '', prefix] = /^([^/]*)(?:\/(0|[1-9]\d{0,2}))?$/.exec(text) ?? [];
  const address = parseAddress(host);
  if (address === undefined) {
    throw malformed(`${field} ${quoted(text)} is not a network such as 192.0.2.0/24 or 2001:db8::/32.`);
  }
  const { bits } = address;
  const mapped = bits === 32 && !isIPv4(host) ? MAPPED_BITS : 0;
  const length = prefix === undefined ? bits : Number(prefix) - mapped;
  if (length < 0 || length > bits) {
    throw malformed(`${field} ${quoted(text)} must have a prefix from ${mapped} to ${bits + mapped}.`);
  }
  return canonicalCidr(address, length, `${field} ${quoted(text)}`, hostBits);
}

/** Refuses bits after the prefix: their sender may mean the one address, or the whole network. */
function canonicalCidr(address: Address, length: number, described: string, problem: ProblemName): string {
  const hostBits = BigInt(address.bits - length);
  const network = { ...address, value: (address.value >> hostBits) << hostBits };
  const canonical = `${textOf(network)}/${length}`;
  if (network.value === address.value) return canonical;
  const one = `${textOf(address)}/${address.bits}`;
  throw new Problem(
    problem,
    `${described} has bits after its prefix; send ${canonical} for the network, or ${one} for the address.`,
  );
}

function textOf({ bits, value }: Address): string {
  const digit = (shift: number, mask: bigint): bigint => (value >> BigInt(shift)) & mask;
  if (bits === 32) return [24, 16, 8, 0].map((shift) => digit(shift, 0xffn)).join('.');
  const groups = [112, 96, 80, 64, 48, 32, 16, 0].map((shift) => digit(shift, 0xffffn).toString(16));
  return canonicalHost(`[${groups.join(':')}]`).slice(1, -1);
}

/** Undefined for any other text, and for an address with a zone, which names an interface of one machine. */
function parseAddress(text: string): Address | undefined {
  if (isIPv4(text)) return { bits: 32, value: valueOfIpv4(text) };
  if (!isIPv6(text) || text.includes('%')) return undefined;
  const value = valueOfIpv6(canonicalHost(`[${text}]`).slice(1, -1));
  return value >> 32n === MAPPED_PREFIX ? { bits: 32, value: value & 0xffffffffn } : { bits: 128, value };
}

const valueOfIpv4 = (text: string): bigint =>
  BigInt(text.split('.').reduce((value, number) => value * 256 + Number(number), 0));

/** Takes the canonical spelling, which has no IPv4 part. */
function valueOfIpv6(text: string): bigint {
  const [before = [], after = []] = text.split('::').map((half) => (half === '' ? [] : half.split(':')));
  const zeros = new Array<string>(8 - before.length - after.length).fill('0');
  return [...before, ...zeros, ...after].reduce((value, group) => (value << 16n) | BigInt(`0x${group}`), 0n);
}

/**
 * Reads where a tunnel comes from: an address with or without a port, IPv6 in brackets if it has a port. Undefined if it
 * cannot be read, which no restriction permits.
 */
export function parseSource(text: string | undefined): Address | undefined {
  const [, ipv6, ipv4] = /^(?:\[([^\]]*)\]|([\d.]+))(?::\d{1,5})?$/.exec(text ?? '') ?? [];
  if (ipv6 !== undefined) return isIPv6(ipv6) ? parseAddress(ipv6) : undefined;
  return parseAddress(ipv4 ?? text ?? '');
}

/** Takes canonical networks, joined by commas. */
export const compileNetworks = (cidrs: string): readonly Network[] =>
  cidrs.split(',').map((cidr) => {
    const [text = '', length] = cidr.split('/');
    const bits = text.includes(':') ? 128 : 32;
    const hostBits = BigInt(bits - Number(length));
    return { bits, hostBits, value: (bits === 32 ? valueOfIpv4(text) : valueOfIpv6(text)) >> hostBits };
  });

export const contains = (networks: readonly Network[], { bits, value }: Address): boolean =>
  networks.some((network) => network.bits === bits && network.value === value >> network.hostBits);

const malformed = (sentence: string): Problem => new Problem('request_malformed', sentence);
