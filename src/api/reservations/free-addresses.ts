import { Inject, Injectable } from '@nestjs/common';
import type { Pool } from 'pg';
import { onPrimary, POOL, queryNamed } from '../../database/index.js';
import { Problem, quoted } from '../../kernel/problem.js';
import { type AddressPool, poolIsEmpty, poolsOf, ReservationPolicy, randomAddresses } from './address-pools.js';

/** The addresses of $1 that are neither reserved nor resting; $2: for how long they rest, in milliseconds. */
const FREE = onPrimary({
  name: 'free_addrs',
  text: `select wanted.addr from unnest($1::text[]) as wanted(addr)
    where not exists (select from reserved_addrs a where a.addr = wanted.addr)
      and not exists (select from resting_names r where r.name = wanted.addr
        and r.deleted_at > statement_timestamp() - $2::float8 * interval '1 millisecond')`,
});

/** Until when $1 rests for other accounts than the one that had it; $2 as above, $3: the account that wants it. */
const RESTS_UNTIL = onPrimary({
  name: 'name_rests_until',
  text: `select max(r.deleted_at) + $2::float8 * interval '1 millisecond' as until from resting_of($1) r
    where r.account_id <> $3 and r.deleted_at > statement_timestamp() - $2::float8 * interval '1 millisecond'`,
});

/** $1: an account; $2: where the count may stop. */
const NUMBER = {
  name: 'number_of_reservations',
  text: `select count(*)::int as n from (
      (select from reserved_addrs a where a.account_id = $1 limit $2)
      union all (select from reserved_domains d where d.account_id = $1 limit $2)
    ) counted`,
};

/** Tried before the whole pool is searched. */
const RANDOM_ADDRESSES = 20;
const MAX_PORTS = 65_536;

/** What may still be reserved. The indexes decide races: see the handlers. */
@Injectable()
export class FreeAddresses {
  /** Addresses that are being reserved through this instance, so that its own requests do not race each other. */
  private readonly underWay = new Set<string>();

  constructor(
    @Inject(POOL) private readonly pool: Pool,
    private readonly policy: ReservationPolicy,
  ) {}

  /** Throws Problem if the account has its maximum of reservations. Creates that race may exceed it by a few. */
  async requireRoom(accountId: string): Promise<void> {
    const { maxReservations: max } = this.policy;
    const { rows } = await queryNamed<{ n: number }>(this.pool, NUMBER, [accountId, max]);
    if ((rows[0]?.n ?? 0) < max) return;
    throw new Problem('conflict', `The account has ${max} reservations, and the maximum (MAX_RESERVATIONS) is ${max}.`);
  }

  /** Throws Problem if another account had the address or domain until shortly before. */
  async refuseResting(accountId: string, name: string): Promise<void> {
    const values = [name, this.policy.reservationRestMs, accountId];
    const { rows } = await queryNamed<{ until: Date | null }>(this.pool, RESTS_UNTIL, values);
    const until = rows[0]?.until;
    if (until == null) return;
    const sentence = `${quoted(name)} was another account's until a short time ago, and rests until ${until.toISOString()}.`;
    throw new Problem('conflict', sentence);
  }

  /** Runs `use` with a free address of the pools of a region. Throws Problem if there is none. */
  async withAny<T>(region: string, use: (addr: string) => Promise<T>): Promise<T> {
    const addr = await this.any(region);
    this.underWay.add(addr);
    try {
      return await use(addr);
    } finally {
      this.underWay.delete(addr);
    }
  }

  private async any(region: string): Promise<string> {
    const pools = poolsOf(this.policy.addressPools, region);
    const [first] = await this.free(randomAddresses(pools, RANDOM_ADDRESSES));
    if (first !== undefined) return first;
    for (const addresses of slicesOf(pools)) {
      const [any] = shuffled(await this.free(addresses));
      if (any !== undefined) return any;
    }
    throw poolIsEmpty(region);
  }

  private async free(addresses: readonly string[]): Promise<readonly string[]> {
    const values = [addresses, this.policy.reservationRestMs];
    const { rows } = await queryNamed<{ addr: string }>(this.pool, FREE, values);
    return rows.map(({ addr }) => addr).filter((addr) => !this.underWay.has(addr));
  }
}

/** All addresses of each pool. */
function* slicesOf(pools: readonly AddressPool[]): Generator<readonly string[]> {
  for (const { host, from, to } of pools) {
    yield Array.from({ length: Math.min(to - from + 1, MAX_PORTS) }, (_, n) => `${host}:${from + n}`);
  }
}

function shuffled<T>(items: readonly T[]): readonly T[] {
  const start = Math.floor(Math.random() * items.length);
  return [...items.slice(start), ...items.slice(0, start)];
}
