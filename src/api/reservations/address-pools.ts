import { randomInt } from 'node:crypto';
import { malformed, Problem, quoted } from '../../kernel/problem.js';
import { canonicalHost, ParseError, parsePort, type TunnelDomain } from '../../rules/index.js';
import { covers } from './reservation.js';

/** A range of ports of a host. Nobody binds one that nobody has reserved. */
export interface AddressPool {
  /** Canonical. */
  readonly host: string;
  readonly from: number;
  readonly to: number;
  /** Empty: the pool serves every region. Terraform before 1.0 asks for `us` whenever its user names none. */
  readonly region: string;
}

const MAX_POOLS = 100;
export const MAX_REGION_BYTES = 64;
const ENTRY = /^(?:([a-z0-9-]{1,32})=)?(.+):(\d{1,5})(?:-(\d{1,5}))?$/;

/** Reads `host:from-to` or `region=host:from-to`, separated by commas. Throws an Error whose message completes "NAME ...". */
export function parsePools(text: string): readonly AddressPool[] {
  const pools = text.split(',').map((entry) => parsePool(entry.trim()));
  if (pools.length > MAX_POOLS) throw new Error(`has ${pools.length} pools; the maximum is ${MAX_POOLS}`);
  for (const [n, pool] of pools.entries()) {
    const other = pools.slice(0, n).find((one) => one.host === pool.host && one.from <= pool.to && pool.from <= one.to);
    if (other !== undefined) throw new Error(`has ports of ${pool.host} twice: ${rangeOf(other)} and ${rangeOf(pool)}`);
  }
  return pools;
}

const rangeOf = ({ from, to }: AddressPool): string => `${from}-${to}`;

function parsePool(entry: string): AddressPool {
  const [, region = '', host = '', first = '', last = first] = ENTRY.exec(entry) ?? [];
  if (host === '') throw new Error('must be host:from-to or region=host:from-to');
  try {
    const [from, to] = [parsePort(first, 1), parsePort(last, 1)];
    if (from > to) throw new ParseError(`its ports begin with ${from} and end with ${to}`);
    return { host: canonicalHost(host), from, to, region };
  } catch (error) {
    if (!(error instanceof ParseError)) throw error;
    throw new Error(`has the pool ${entry}: ${error.message}`);
  }
}

/** The settings for reservations: see docs/settings.md. */
export abstract class ReservationPolicy {
  abstract readonly addressPools: readonly AddressPool[];
  /** For how long a deleted address or domain is bound by nobody, and reserved by no other account. */
  abstract readonly reservationRestMs: number;
  abstract readonly maxReservations: number;
  /** Canonical names that nobody may reserve, nor a wildcard that covers them, nor addresses at them but those of a pool. */
  abstract readonly unreservableHosts: readonly string[];
  /** Nobody reserves it, nor what its credentials have for themselves. */
  readonly tunnelDomain?: TunnelDomain | undefined;
  /** The host of the service's own URL, which nobody may reserve as a domain. */
  readonly publicHost?: string;
}

/** The data of the event of a deletion: what rests keeps its time when the setting changes. */
export const restOf = ({ reservationRestMs }: ReservationPolicy) => ({ rest_ms: reservationRestMs });

/** The policy under which nobody may reserve the host of the service's own URL either. */
export function withPublicHost(policy: ReservationPolicy, publicUrl: string | undefined): ReservationPolicy {
  if (publicUrl === undefined) return policy;
  const host = new URL(publicUrl).hostname.replace(/\.$/, '');
  return { ...policy, publicHost: host };
}

/** The pool of an address. `host` is canonical, and may be a wildcard, which is in the pool of each host that it covers. */
export function poolOf(pools: readonly AddressPool[], host: string, port: number): AddressPool | undefined {
  return pools.find((pool) => covers(host, pool.host) && pool.from <= port && port <= pool.to);
}

export const serves = (pool: AddressPool, region: string): boolean =>
  region === '' || pool.region === '' || pool.region === region;

/** The pools that serve a region. Throws Problem if there are none. */
export function poolsOf(pools: readonly AddressPool[], region: string): readonly AddressPool[] {
  if (pools.length === 0) throw malformed('addr is missing; this service has no pool to give one from (ADDRESS_POOL).');
  const found = pools.filter((pool) => serves(pool, region));
  if (found.length > 0) return found;
  const regions = [...new Set(pools.map((pool) => pool.region))];
  throw malformed(`No address pool has the region ${quoted(region)}; the pools have ${regions.join(', ')}.`);
}

/** Some addresses of the pools at random, each at most once. All pools count by their size. */
export function randomAddresses(pools: readonly AddressPool[], count: number): readonly string[] {
  const size = pools.reduce((sum, { from, to }) => sum + to - from + 1, 0);
  const places = new Set(Array.from({ length: count }, () => randomInt(size)));
  return [...places].map((place) => addressAt(pools, place));
}

function addressAt(pools: readonly AddressPool[], place: number): string {
  let rest = place;
  for (const { host, from, to } of pools) {
    if (rest <= to - from) return `${host}:${from + rest}`;
    rest -= to - from + 1;
  }
  throw new RangeError('the place is in a pool');
}

export const poolIsEmpty = (region: string): Problem => {
  const which = region === '' ? 'The address pools have' : `The pools of ${quoted(region)} have`;
  return new Problem('conflict', `${which} no free address: delete a reservation, or ask for a larger ADDRESS_POOL.`);
};
