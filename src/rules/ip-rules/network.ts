import { isIPv4 } from 'node:net';
import { malformed, Problem, type ProblemName, quoted } from '../../kernel/problem.js';
import { type Address, addressText, parseAddress, readCanonical } from './address.js';

/** A network; `value` is the number of its prefix. */
export interface Network extends Address {
  /** The number of bits after the prefix. */
  readonly hostBits: bigint;
}

const MAPPED_BITS = 96;

/** The names of the two refusals of a text. */
interface Refusals {
  readonly malformed: ProblemName;
  /** Bits follow the prefix. */
  readonly hostBits: ProblemName;
}

const NO_NAMES: Refusals = { malformed: 'request_malformed', hostBits: 'request_malformed' };

/**
 * Checks a network or an address, and returns it in canonical form: `192.0.2.0/24`, `2001:db8::/32`, and `/32` or
 * `/128` for an address. A network of IPv4-mapped addresses is the IPv4 network. Throws Problem.
 */
export function parseCidr(text: unknown, field: string, refusals = NO_NAMES): string {
  if (typeof text !== 'string') throw malformed(`${field} must be a string.`);
  const { host, address, prefix } = partsOf(text);
  if (address === undefined) {
    const why = `${field} ${quoted(text)} is not a network such as 192.0.2.0/24 or 2001:db8::/32.`;
    throw new Problem(refusals.malformed, why);
  }
  const { bits } = address;
  const mapped = mappedBits(host, bits);
  const length = prefix === undefined ? bits : Number(prefix) - mapped;
  if (length < 0 || length > bits) {
    const why = `${field} ${quoted(text)} must have a prefix from ${mapped} to ${bits + mapped}.`;
    throw new Problem(refusals.malformed, why);
  }
  return canonicalCidr(address, length, `${field} ${quoted(text)}`, refusals.hostBits);
}

/** The network of an address and a prefix, whatever bits follow the prefix. Undefined for any other text. */
export function networkAround(text: string): Network | undefined {
  const { host, address, prefix } = partsOf(text);
  if (address === undefined || prefix === undefined) return undefined;
  const length = Number(prefix) - mappedBits(host, address.bits);
  if (length < 0 || length > address.bits) return undefined;
  const hostBits = BigInt(address.bits - length);
  return { bits: address.bits, hostBits, value: address.value >> hostBits };
}

/** The canonical spelling of a network. */
export const networkText = ({ bits, hostBits, value }: Network): string =>
  `${addressText({ bits, value: value << hostBits })}/${BigInt(bits) - hostBits}`;

function partsOf(text: string) {
  const [, host = '', prefix] = /^([^/]*)(?:\/(0|[1-9]\d{0,2}))?$/.exec(text) ?? [];
  return { host, address: parseAddress(host), prefix };
}

/** How many bits of a prefix are those of an IPv4-mapped address. */
const mappedBits = (host: string, bits: Address['bits']): number => (bits === 32 && !isIPv4(host) ? MAPPED_BITS : 0);

/** Refuses bits after the prefix, because their sender may mean the one address or the whole network. */
function canonicalCidr(address: Address, length: number, described: string, problem: ProblemName): string {
  const hostBits = BigInt(address.bits - length);
  const network = { ...address, value: (address.value >> hostBits) << hostBits };
  const canonical = `${addressText(network)}/${length}`;
  if (network.value === address.value) return canonical;
  const one = `${addressText(address)}/${address.bits}`;
  throw new Problem(
    problem,
    `${described} has bits after its prefix; send ${canonical} for the network, or ${one} for the address.`,
  );
}

/** All networks that contain an address, in canonical form, the largest first. */
export const networksContaining = ({ bits, value }: Address): string[] =>
  Array.from({ length: bits + 1 }, (_, length) => {
    const hostBits = BigInt(bits - length);
    return `${addressText({ bits, value: (value >> hostBits) << hostBits })}/${length}`;
  });

/** Compiles a network in canonical form. */
export function compileNetwork(cidr: string): Network {
  const slash = cidr.indexOf('/');
  const { bits, value } = readCanonical(cidr.slice(0, slash));
  const hostBits = BigInt(bits - Number(cidr.slice(slash + 1)));
  return { bits, hostBits, value: value >> hostBits };
}

/** Reads addresses and networks, separated by commas. Throws an Error whose message completes the sentence "NAME ...". */
export function networksIn(text: string): readonly Network[] {
  try {
    return text.split(',').map((entry) => compileNetwork(parseCidr(entry.trim(), 'the entry')));
  } catch (error) {
    if (!(error instanceof Problem)) throw error;
    throw new Error(`must be addresses or networks, separated by commas: ${error.message}`);
  }
}
