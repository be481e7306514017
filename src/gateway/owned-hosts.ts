import { isIP } from 'node:net';
import { canonicalHost, MAX_ALIASES, type OwnedHost, ParseError } from '../rules/index.js';

/** Reads `host` or `host=address`, separated by commas. Throws an Error whose message completes "NAME ...". */
export function parseOwnedHosts(text: string): readonly OwnedHost[] {
  const hosts = text.split(',').map((entry) => parseEntry(entry.trim()));
  // One question names all names of an address.
  if (hosts.length > MAX_ALIASES) throw new Error(`has ${hosts.length} hosts; the maximum is ${MAX_ALIASES}`);
  return hosts;
}

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
