import { Inject, Injectable } from '@nestjs/common';
import type { Pool } from 'pg';
import { onPrimary, POOL, queryNamed } from '../../database/index.js';
import { ReservationPolicy } from './address-pools.js';
import { ALL_FREE, covers, type ListenPattern, type Narrowing } from './reservation.js';

/** More than an answer can hold: see MAX_PERMIT_LISTENS. */
const MAX_OWN = 4_096;

/** $1: the account; $2: how long a deleted name rests, in milliseconds. */
const IS_ALL_FREE = onPrimary({
  name: 'is_all_free',
  text: `select not exists (select from reserved_addrs a where a.account_id < $1)
      and not exists (select from reserved_addrs a where a.account_id > $1)
      and not exists (select from reserved_domains d where d.account_id < $1)
      and not exists (select from reserved_domains d where d.account_id > $1)
      and not exists (select from resting_names r where r.deleted_at at time zone 'UTC'
        > (statement_timestamp() - $2::float8 * interval '1 millisecond') at time zone 'UTC') as "isAllFree"`,
});

const OWN = onPrimary({
  name: 'own_reserved_names',
  text: `(select host_of(a.addr) as host, substring(a.addr from '[0-9]+$')::int as port from reserved_addrs a
      where a.account_id = $1 order by a.id limit ${MAX_OWN})
    union all
    (select d.domain, null from reserved_domains d where d.account_id = $1 order by d.id limit ${MAX_OWN})`,
});

/** $3: hosts and wildcards. Found are those under which something is reserved for others, or rests. */
const TAKEN = onPrimary({
  name: 'hosts_reserved_elsewhere',
  text: `select wanted.host from unnest($3::text[]) as wanted(host)
    where exists (select from reserving_accounts(wanted.host, true) r where r <> $1)
      or exists (select from resting_of(wanted.host) r where r.deleted_at > statement_timestamp() - $2::float8 * interval '1 millisecond')
      or exists (select from resting_names r where r.name > wanted.host || ':' and r.name < wanted.host || ';'
        and r.deleted_at > statement_timestamp() - $2::float8 * interval '1 millisecond')`,
});

@Injectable()
export class ReservedForSshd {
  constructor(
    @Inject(POOL) private readonly pool: Pool,
    private readonly policy: ReservationPolicy,
  ) {}

  /** `hosts`: those of the rules of the account's key. One port of a host that is not free makes the host not free. */
  async narrowing(accountId: string, hosts: readonly string[]): Promise<Narrowing> {
    const rest = this.policy.reservationRestMs;
    const hasPools = this.policy.addressPools.length > 0;
    const { rows } = await queryNamed<{ isAllFree: boolean }>(this.pool, IS_ALL_FREE, [accountId, rest]);
    if (rows[0]?.isAllFree === true && !hasPools) return ALL_FREE;
    const [own, taken] = await Promise.all([
      queryNamed<ListenPattern & object>(this.pool, OWN, [accountId]),
      queryNamed<{ host: string }>(this.pool, TAKEN, [accountId, rest, hosts]),
    ]);
    const notFree = new Set(taken.rows.map(({ host }) => host));
    return {
      // A domain that is older than a pool at it is not the account's at the ports of the pool.
      own: own.rows.filter(({ host, port }) => port !== null || !this.hasPoolAt(host, null)),
      isAllFree: false,
      isFree: ({ host, port }) => !notFree.has(host) && !this.hasPoolAt(host, port),
    };
  }

  private hasPoolAt(host: string, port: number | null): boolean {
    return this.policy.addressPools.some(
      (pool) => covers(host, pool.host) && (port === null || (pool.from <= port && port <= pool.to)),
    );
  }
}
