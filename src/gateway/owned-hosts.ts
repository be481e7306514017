import { isIP } from 'node:net';
import { type Address, canonicalHost, ParseError, parseAddress } from '../rules/index.js';
import type { OwnedHost } from './gateway-settings.js';

/** Reads `host` or `host=address`, separated by commas. Throws an Error whose message completes "NAME ...". */
export const parseOwnedHosts = (text: string): readonly OwnedHost[] =>
  text.split(',').map((entry) => parseEntry(entry.trim()));

function parseEntry(entry: string): OwnedHost {
  const [name = '', address = name] = entry.split('=', 2);
  const host = canonical(name);
  const listenAddress = address.replace(/^\[(.*)\]$/, '$1');
  if (isIP(listenAddress) !== 0) return { host, listenAddress };
  throw new Error(`must say where the gateway listens for ${host}, as in ${host}=0.0.0.0`);
}

function canonical(name: string): string {
  try {
    return canonicalHost(isIP(name) === 6 ? `[${name}]` : name);
  } catch (error) {
    if (!(error instanceof ParseError)) throw error;
    throw new Error(`must be hosts, each alone or as host=address: ${error.message}`);
  }
}

/** The other hosts of which a listener at this host takes the port too. */
export function aliasesOf({ host, listenAddress }: OwnedHost, hosts: readonly OwnedHost[]): readonly string[] {
  const others = hosts.filter((other) => other.host !== host && overlap(other.listenAddress, listenAddress));
  return [...new Set(others.map((other) => other.host))];
}

function overlap(one: string, other: string): boolean {
  const [a, b] = [parseAddress(one), parseAddress(other)];
  return one === other || (a !== undefined && covers(a, b)) || (b !== undefined && covers(b, a));
}

/** `::` listens for IPv4 too, and for addresses with a zone, which are undefined. */
const covers = ({ bits, value }: Address, other: Address | undefined): boolean =>
  value === 0n ? bits === 128 || other?.bits === bits : other?.bits === bits && other.value === value;
