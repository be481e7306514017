import { Inject, Injectable } from '@nestjs/common';
import type { Pool } from 'pg';
import { coalesced, onPrimary, POOL, queryNamed } from '../../database/index.js';
import { type BindTarget, splitPort } from '../../rules/index.js';
import { poolOf, ReservationPolicy } from './address-pools.js';

/** Why a target cannot be bound or served, whatever the rules permit. */
export const RESERVATION_REASONS = ['reserved_elsewhere', 'not_reserved'] as const;
export type ReservationReason = (typeof RESERVATION_REASONS)[number];

/** What is reserved of a target, as the database says. */
interface Found {
  /** The account that reserved this very address. */
  readonly holder: string | null;
  /** How long ago the newest reservation that covers the target was deleted. */
  readonly restingMs: number | null;
  /** Accounts with a domain that covers the target, or with anything that it covers. Two are enough to tell. */
  readonly accounts: readonly string[];
}

const NOTHING: Found = { holder: null, restingMs: null, accounts: [] };

/** $1: names of domains, or hostports. A wildcard and a domain cover the addresses at their hosts too. */
const FIND = onPrimary({
  name: 'reserved_names',
  text: `select wanted.name, a.account_id as holder,
      (select extract(epoch from statement_timestamp() - max(r.deleted_at))::float8 * 1000 from resting_of(wanted.name) r)
        as "restingMs",
      array(select distinct r from reserving_accounts(host_of(wanted.name), host_of(wanted.name) = wanted.name) r limit 2) as accounts
    from unnest($1::text[]) as wanted(name)
    left join lateral (select o.account_id from reserved_addrs o where o.addr = wanted.name limit 1) a on true`,
});

/** Who alone may bind or serve a target; null: nobody. All others are refused for the reason. */
interface Ruling {
  readonly only: string | null;
  readonly reason: ReservationReason;
}

/** Judges what an account may bind or serve, by the reservations of one moment. */
export type Judge = (accountId: string, target: BindTarget) => ReservationReason | undefined;

/** Reads who has reserved what. Each question is answered from a read that began after it. */
@Injectable()
export class ReservedNames {
  constructor(
    @Inject(POOL) private readonly pool: Pool,
    private readonly policy: ReservationPolicy,
  ) {}

  async read(targets: readonly BindTarget[]): Promise<Judge> {
    const rule = await this.rulings(targets);
    return (accountId, target) => {
      const ruling = rule(target);
      return ruling === undefined || ruling.only === accountId ? undefined : ruling.reason;
    };
  }

  /** For each of these canonical hostports: the account that alone may serve it, null if none may, undefined if any may. */
  async servers(hostports: readonly string[]): Promise<readonly (string | null | undefined)[]> {
    const targets = hostports.map(addressTarget);
    const rule = await this.rulings(targets);
    return targets.map((target) => rule(target)?.only);
  }

  private async rulings(targets: readonly BindTarget[]): Promise<(target: BindTarget) => Ruling | undefined> {
    const names = [...new Set(targets.flatMap((target) => nameOf(target) ?? []))];
    const found = new Map(
      await Promise.all(names.map(async (name) => [name, (await this.find(name)) ?? NOTHING] as const)),
    );
    return (target) => this.ruling(target, found.get(nameOf(target) ?? '') ?? NOTHING);
  }

  private ruling(target: BindTarget, { holder, restingMs, accounts }: Found): Ruling | undefined {
    if (target.kind === 'label') return undefined;
    if (holder !== null) return { only: holder, reason: 'reserved_elsewhere' };
    if (target.kind === 'address' && this.isInPool(target)) return { only: null, reason: 'not_reserved' };
    const [first, ...others] = accounts;
    if (first !== undefined) return { only: others.length === 0 ? first : null, reason: 'reserved_elsewhere' };
    const isResting = restingMs !== null && restingMs < this.policy.reservationRestMs;
    return isResting ? { only: null, reason: 'not_reserved' } : undefined;
  }

  /** Port 0 can become any port of the host. */
  private isInPool({ host, port }: { readonly host: string; readonly port: number }): boolean {
    const { addressPools } = this.policy;
    if (port !== 0) return poolOf(addressPools, host, port) !== undefined;
    return addressPools.some(({ from }) => poolOf(addressPools, host, from) !== undefined);
  }

  private readonly find = coalesced<Found>(async (names) => {
    const { rows } = await queryNamed<Found & { name: string }>(this.pool, FIND, [names]);
    return new Map(rows.map(({ name, ...found }) => [name, found]));
  });
}

/** Undefined for a label, which nobody can reserve. */
function nameOf(target: BindTarget): string | undefined {
  if (target.kind === 'label') return undefined;
  return target.kind === 'domain' ? target.name : `${target.host}:${target.port}`;
}

/** The target of a canonical hostport. */
export function addressTarget(hostport: string): BindTarget {
  const { host, port } = splitPort(hostport);
  return { kind: 'address', host, port: Number(port) };
}
