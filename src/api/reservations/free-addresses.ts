import { Inject, Injectable } from '@nestjs/common';
import type { Pool } from 'pg';
import { onPrimary, POOL, queryNamed } from '../../database/index.js';
import { Problem, quoted } from '../../kernel/problem.js';
import type { ChangeOptions, Refusals } from '../resources/changes.js';
import { type AddressPool, poolIsEmpty, poolsOf, ReservationPolicy, randomAddresses } from './address-pools.js';
import { RESTS_CONSTRAINT, TOO_MANY_CONSTRAINT } from './reserved-domains.read-model.js';

/**
 * The addresses of $1 that are neither reserved nor resting, at hosts of which no other account than $2 has or had the
 * domain.
 */
const FREE = onPrimary({
  name: 'free_addrs',
  text: `with free_hosts as materialized (
      select hosts.host from (select distinct host_of(addr) as host from unnest($1::text[]) as wanted(addr)) hosts
      where not exists (select from reserving_accounts(hosts.host, false) r where r <> $2)
        and not exists (select from resting_names r where r.name = any(covering_names(hosts.host))
          and r.account_id <> $2 and r.until > statement_timestamp()))
    select wanted.addr from unnest($1::text[]) as wanted(addr)
    where host_of(wanted.addr) in (select host from free_hosts)
      and not exists (select from reserved_addrs a where a.addr = wanted.addr)
      and not exists (select from resting_names r where r.name = wanted.addr and r.until > statement_timestamp())`,
});

/** Until when $1 rests for the account $2, which did not have it. */
const RESTS_UNTIL = onPrimary({
  name: 'name_rests_until',
  text: 'select max(r.until) as until from resting_of($1) r where r.account_id <> $2',
});

/** $1: an account; $2: where the count may stop. What rests counts too, except $3: else an account could make a pool rest. */
const NUMBER = {
  name: 'number_of_reservations',
  text: 'select reservations_of($1, $2, $3) as n',
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

  /**
   * Throws Problem if the account has its maximum of reservations beside `name`, which may be its own and rest. It spares
   * an append that a trigger would refuse.
   */
  async requireRoom(accountId: string, name = ''): Promise<void> {
    const { maxReservations: max } = this.policy;
    const { rows } = await queryNamed<{ n: number }>(this.pool, NUMBER, [accountId, max, name]);
    if ((rows[0]?.n ?? 0) >= max) throw tooMany(max);
  }

  /** The options of a create: triggers look again in its append. */
  optionsWith(refusals: Refusals): ChangeOptions {
    const { maxReservations: maximum } = this.policy;
    const ofTriggers: Refusals = { [TOO_MANY_CONSTRAINT]: () => tooMany(maximum), [RESTS_CONSTRAINT]: 'again' };
    return { maximum, refusals: { ...ofTriggers, ...refusals } };
  }

  /** Throws Problem if another account had the address or domain until shortly before. */
  async refuseResting(accountId: string, name: string): Promise<void> {
    const { rows } = await queryNamed<{ until: Date | null }>(this.pool, RESTS_UNTIL, [name, accountId]);
    const until = rows[0]?.until;
    if (until == null) return;
    const had = 'is, or overlaps, what another account had until a short time ago';
    throw new Problem('conflict', `${quoted(name)} ${had}. That rests until ${until.toISOString()}.`);
  }

  /**
   * Runs `use`, which may take free addresses of the pools of a region. What it took is given to nobody else through this
   * instance until it ends.
   */
  async withAny<T>(accountId: string, region: string, use: (take: () => Promise<string>) => Promise<T>): Promise<T> {
    const taken = new Set<string>();
    const take = async (): Promise<string> => {
      const addr = await this.any(accountId, region);
      this.underWay.add(addr);
      taken.add(addr);
      return addr;
    };
    try {
      return await use(take);
    } finally {
      for (const addr of taken) this.underWay.delete(addr);
    }
  }

  /** Throws Problem if no address is free. */
  private async any(accountId: string, region: string): Promise<string> {
    const pools = poolsOf(this.policy.addressPools, region);
    const [first] = await this.free(accountId, randomAddresses(pools, RANDOM_ADDRESSES));
    if (first !== undefined) return first;
    for (const addresses of slicesOf(pools)) {
      const [any] = shuffled(await this.free(accountId, addresses));
      if (any !== undefined) return any;
    }
    throw poolIsEmpty(region);
  }

  private async free(accountId: string, addresses: readonly string[]): Promise<readonly string[]> {
    const { rows } = await queryNamed<{ addr: string }>(this.pool, FREE, [addresses, accountId]);
    return rows.map(({ addr }) => addr).filter((addr) => !this.underWay.has(addr));
  }
}

const tooMany = (max: number): Problem =>
  new Problem(
    'conflict',
    `The account has ${max} reservations or more, with those that it deleted and that rest. The maximum (MAX_RESERVATIONS) is ${max}.`,
  );

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
