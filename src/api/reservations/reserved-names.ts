import { Inject, Injectable } from '@nestjs/common';
import type { Pool } from 'pg';
import { coalesced, onPrimary, POOL, queryNamed } from '../../database/index.js';
import { type BindTarget, splitPort } from '../../rules/index.js';
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

/** Who alone may bind or serve a target; null: nobody. All others are refused for the reason. */
interface Ruling {
  readonly only: string | null;
  readonly reason: ReservationReason;
}

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
    const names = [...new Set(targets.flatMap(partsOf).map(nameOf))];
    const found = (await Promise.all(names.map((name) => this.find(name)))).flatMap((one) => one ?? []);
    const byName = new Map(found.map((one) => [one.name, one]));
    return { found, judge: (accountId, target) => this.judge(accountId, target, byName) };
  }

  /** For each of these canonical hostports: the account that alone may serve it, null if none may, undefined if any may. */
  async servers(hostports: readonly string[]): Promise<readonly (string | null | undefined)[]> {
    const found = await Promise.all(hostports.map((hostport) => this.find(hostport)));
    return found.map((one, n) => one && this.ruling(addressOf(hostports[n] ?? ''), one)?.only);
  }

  /** The first reason, of the address or of an alias. */
  private judge(
    accountId: string,
    target: BindTarget,
    found: ReadonlyMap<string, Found>,
  ): ReservationReason | undefined {
    for (const one of partsOf(target)) {
      const reserved = found.get(nameOf(one));
      const ruling = reserved && this.ruling(one, reserved);
      if (ruling !== undefined && ruling.only !== accountId) return ruling.reason;
    }
    return undefined;
  }

  private ruling({ host, port }: Named, { holder, accounts, isResting }: Found): Ruling | undefined {
    if (holder !== null) return { only: holder, reason: 'reserved_elsewhere' };
    if (port !== undefined && this.isInPool(host, port)) return { only: null, reason: 'not_reserved' };
    const [first, ...others] = accounts;
    if (first !== undefined) return { only: others.length === 0 ? first : null, reason: 'reserved_elsewhere' };
    return isResting ? { only: null, reason: 'not_reserved' } : undefined;
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

const addressOf = (hostport: string): Required<Named> => {
  const { host, port } = splitPort(hostport);
  return { host, port: Number(port) };
};

/** The target of a canonical hostport. */
export const addressTarget = (hostport: string): BindTarget => ({ kind: 'address', ...addressOf(hostport) });
