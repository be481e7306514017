import { type Address, parseAddress } from './address.js';

/** A host that a gateway owns, and the address of its machine where it listens for this host. */
export interface OwnedHost {
  /** Canonical, as in a bind rule. */
  readonly host: string;
  readonly listenAddress: string;
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
