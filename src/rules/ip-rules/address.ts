import { isIPv4, isIPv6 } from 'node:net';
import { canonicalHost } from '../host-name.js';

/** An address as a number. As in sshd, an IPv4-mapped IPv6 address is its IPv4 address. */
export interface Address {
  readonly bits: 32 | 128;
  readonly value: bigint;
}

const MAPPED_PREFIX = 0xffffn;

/**
 * Parses an address. Undefined for any other text, and for an address with a zone, because a zone means one machine
 * only.
 */
export function parseAddress(text: string): Address | undefined {
  if (isIPv4(text)) return { bits: 32, value: valueOfIpv4(text) };
  if (!isIPv6(text) || text.includes('%')) return undefined;
  const value = valueOfIpv6(canonicalHost(`[${text}]`).slice(1, -1));
  return value >> 32n === MAPPED_PREFIX ? { bits: 32, value: value & 0xffffffffn } : { bits: 128, value };
}

/** Reads an address in its canonical spelling, which has no IPv4 part in an IPv6 address. */
export const readCanonical = (text: string): Address =>
  text.includes(':') ? { bits: 128, value: valueOfIpv6(text) } : { bits: 32, value: valueOfIpv4(text) };

const valueOfIpv4 = (text: string): bigint =>
  BigInt(text.split('.').reduce((value, number) => value * 256 + Number(number), 0));

function valueOfIpv6(text: string): bigint {
  const [before = [], after = []] = text.split('::').map((half) => (half === '' ? [] : half.split(':')));
  const zeros = new Array<string>(8 - before.length - after.length).fill('0');
  return [...before, ...zeros, ...after].reduce((value, group) => (value << 16n) | BigInt(`0x${group}`), 0n);
}

/** The canonical spelling of an address. */
export function addressText({ bits, value }: Address): string {
  const digit = (shift: number, mask: bigint): bigint => (value >> BigInt(shift)) & mask;
  if (bits === 32) return [24, 16, 8, 0].map((shift) => digit(shift, 0xffn)).join('.');
  const groups = [112, 96, 80, 64, 48, 32, 16, 0].map((shift) => digit(shift, 0xffffn).toString(16));
  return canonicalHost(`[${groups.join(':')}]`).slice(1, -1);
}

/**
 * Parses the source of a connection: an address with or without a port, where IPv6 with a port has brackets. Undefined
 * for any other text, which no rule and no restriction permits.
 */
export function parseSource(text: string | undefined): Address | undefined {
  const [, ipv6, ipv4] = /^(?:\[([^\]]*)\]|([\d.]+))(?::\d{1,5})?$/.exec(text ?? '') ?? [];
  if (ipv6 !== undefined) return isIPv6(ipv6) ? parseAddress(ipv6) : undefined;
  return parseAddress(ipv4 ?? text ?? '');
}
