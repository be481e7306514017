import { Inject, Injectable } from '@nestjs/common';
import type { Pool } from 'pg';
import { coalesced, onPrimary, POOL, queryNamed } from '../../database/index.js';
import type { BindTarget } from '../../rules/index.js';
import { poolOf, ReservationPolicy } from './address-pools.js';
import type { Judge, ReservationReason } from './reservation.js';

/** What is reserved of some targets, as the database said. */
export interface Reservations {
  /** By name: equal JSON means equal judgements. */
  readonly found: readonly Found[];
  readonly judge: Judge;
}

interface Found {
  /** `host:port`, a domain or a wildcard. */
  readonly name: string;
  /** The account that reserved this very address. */
  readonly holder: string | null;
  /** Accounts with a domain that covers the name, or with what a wildcard or a domain covers. Two are enough to tell. */
  readonly accounts: readonly string[];
  /** A reservation of it was deleted a short time ago. */
  readonly isResting: boolean;
}

/** $1: names; $2: for how long a deleted one rests, in milliseconds. A domain covers the addresses at its host. */
const FIND = onPrimary({
  name: 'reserved_names',
  text: `select wanted.name, a.account_id as holder,
      array(select distinct r from reserving_accounts(host_of(wanted.name), host_of(wanted.name) = wanted.name) r order by r limit 2)
        as accounts,
      exists (select from resting_of(wanted.name) r
        where r.deleted_at > statement_timestamp() - $2::float8 * interval '1 millisecond') as "isResting"
    from unnest($1::text[]) as wanted(name)
    left join lateral (select o.account_id from reserved_addrs o where o.addr = wanted.name limit 1) a on true`,
});

/** Reads who has reserved what. Each question is answered from a read that began after it. */
@Injectable()
export class ReservedNames {
  constructor(
    @Inject(POOL) private readonly pool: Pool,
    private readonly policy: ReservationPolicy,
  ) {}

  /** The settings that its judgements depend on, as text. */
  get settings(): string {
    return JSON.stringify([this.policy.addressPools, this.policy.reservationRestMs]);
  }

  async read(targets: readonly BindTarget[]): Promise<Reservations> {
    const names = [...new Set(targets.flatMap(namesOf))];
    const found = (await Promise.all(names.map((name) => this.find(name)))).flatMap((one) => one ?? []);
    const byName = new Map(found.map((one) => [one.name, one]));
    return { found, judge: (accountId, target) => this.judge(accountId, target, byName) };
  }

  /** The first reason, of the address or of an alias. */
  private judge(
    accountId: string,
    target: BindTarget,
    found: ReadonlyMap<string, Found>,
  ): ReservationReason | undefined {
    for (const one of partsOf(target)) {
      const reserved = found.get(nameOf(one));
      const reason = reserved && this.reasonFor(accountId, one, reserved);
      if (reason !== undefined) return reason;
    }
    return undefined;
  }

  private reasonFor(
    accountId: string,
    one: Named,
    { holder, accounts, isResting }: Found,
  ): ReservationReason | undefined {
    if (holder !== null) return holder === accountId ? undefined : 'reserved_elsewhere';
    if (one.port !== undefined && this.isInPool(one.host, one.port)) return 'not_reserved';
    if (accounts.some((other) => other !== accountId)) return 'reserved_elsewhere';
    return isResting && accounts.length === 0 ? 'not_reserved' : undefined;
  }

  /** Port 0 can become any port of the host. */
  private isInPool(host: string, port: number): boolean {
    const { addressPools } = this.policy;
    if (port !== 0) return poolOf(addressPools, host, port) !== undefined;
    return addressPools.some(({ from }) => poolOf(addressPools, host, from) !== undefined);
  }

  private readonly find = coalesced<Found>(async (names) => {
    const { rows } = await queryNamed<Found & object>(this.pool, FIND, [names, this.policy.reservationRestMs]);
    return new Map(rows.map((row) => [row.name, row]));
  });
}

/** A domain, or an address if it has a port. */
interface Named {
  readonly host: string;
  readonly port?: number;
}

const nameOf = ({ host, port }: Named): string => (port === undefined ? host : `${host}:${port}`);

/** What of a target can be reserved: nothing of a label. */
function partsOf(target: BindTarget): readonly Named[] {
  if (target.kind === 'label') return [];
  return target.kind === 'domain' ? [{ host: target.name }] : [target, ...(target.aliases ?? [])];
}

const namesOf = (target: BindTarget): readonly string[] => partsOf(target).map(nameOf);
