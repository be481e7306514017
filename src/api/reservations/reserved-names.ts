import { Inject, Injectable } from '@nestjs/common';
import type { Pool } from 'pg';
import { coalesced, onPrimary, POOL, queryNamed } from '../../database/index.js';
import type { Past } from '../../event-log/index.js';
import { type BindTarget, splitPort } from '../../rules/index.js';
import { poolOf, ReservationPolicy } from './address-pools.js';
import { covers, type RefusalOf, type ReservationReason } from './reservation.js';
import { reservedAddrsReadModel } from './reserved-addrs.read-model.js';

/** What is reserved of some targets, as the database said. */
interface Reservations {
  readonly refusalOf: RefusalOf;
}

interface Found {
  /** `host:port`, a domain or a wildcard. */
  readonly name: string;
  /** The account that reserved this very address. */
  readonly holder: string | null;
  /** Accounts with a domain that covers the name, or with what a wildcard or a domain covers. Two are enough to tell. */
  readonly accounts: readonly string[];
  /** Accounts that deleted a reservation of it, or of what overlaps it, a short time ago. Two of an overlap are enough to tell. */
  readonly resting: readonly string[];
  /**
   * When the account reserved the address or a domain that covers it, in seconds, by the database's clock: those of instances
   * differ. Null for a domain or a wildcard, which can overlap thousands of names.
   */
  readonly since: number | null;
  /** When the oldest of what rests was reserved, in the same way. */
  readonly restingSince: number | null;
}

/**
 * $1: names. A domain covers the addresses at its host, so names of one host share a look-up; nobody can reserve port 0. A
 * look-up stops at the second account, if the plan lets it: an account can have thousands of names under a wildcard.
 */
const FIND = onPrimary({
  name: 'reserved_names',
  text: `with wanted as materialized (
      select name, host_of(name) as host, host_of(name) = name as is_host from unnest($1::text[]) as names(name)),
    hosts as materialized (
      select h.host, h.is_host, array_remove(array[first.r, second.r], null) as accounts,
        array_remove(array[rest.account_id, other_rest.account_id], null) as resting
      from (select distinct host, is_host from wanted) h
      left join lateral (select r from reserving_accounts(h.host, h.is_host) r limit 1) first on true
      left join lateral (select r from reserving_accounts(h.host, h.is_host) r
        where first.r is not null and r <> first.r limit 1) second on true
      cross join lateral (select h.host || case when h.is_host then '' else ':0' end as name) at
      left join lateral (select account_id from resting_of(at.name) limit 1) rest on true
      left join lateral (select account_id from resting_of(at.name) r
        where rest.account_id is not null and r.account_id <> rest.account_id limit 1) other_rest on true)
    select w.name, a.account_id as holder, h.accounts, array_remove(h.resting || r.account_id, null) as resting,
      extract(epoch from age.since)::float8 as since, extract(epoch from rest_age.since)::float8 as "restingSince"
    from wanted w join hosts h on h.host = w.host and h.is_host = w.is_host
    left join lateral (select o.account_id from reserved_addrs o where o.addr = w.name limit 1) a on true
    left join lateral (select o.account_id from resting_names o where o.name = w.name and o.until > statement_timestamp() limit 1)
      r on true
    cross join lateral (select coalesce(a.account_id, h.accounts[1]) as account_id, not w.is_host and w.host not like '*.%' as has_age) reserver
    left join lateral (select min(e.recorded_at) as since from (
        select o.id from reserved_addrs o where o.addr = w.name and o.account_id = reserver.account_id
        union all
        select o.id from reserved_domains o where o.domain = any(covering_names(w.host)) and o.account_id = reserver.account_id) o
      join events e on e.account_id = reserver.account_id and e.stream_id = o.id and e.stream_version = 1
      where reserver.has_age and reserver.account_id is not null) age on true
    left join lateral (select min(coalesce(o.since, '-infinity')) as since from resting_of(w.name) o
      where reserver.has_age and (r.account_id is not null or cardinality(h.resting) > 0)) rest_age on true`,
});

/** Who alone may bind or serve a name; null: nobody. All others are refused for the reason. */
interface Ruling {
  readonly only: string | null;
  readonly reason: ReservationReason;
  /** In seconds. Null: it counts beside a name of any age. Infinite: it never counts beside a live reservation. */
  readonly since: number | null;
  /** Whose names rest, if nothing is reserved. */
  readonly resting?: readonly string[];
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
    return JSON.stringify([this.policy.addressPools, this.policy.tunnelDomain?.url]);
  }

  async read(targets: readonly BindTarget[]): Promise<Reservations> {
    const names = [...new Set(targets.flatMap(partsOf).map(nameOf))];
    const find = (name: string) => (name.startsWith('*.') ? this.findWildcard(name) : this.find(name));
    const found = (await Promise.all(names.map(find))).flatMap((one) => one ?? []);
    const byName = new Map(found.map((one) => [one.name, one]));
    return this.reservationsOf(byName);
  }

  /**
   * The same as of a moment, from the log of the account alone. It refuses only what is in a pool and was not reserved, so
   * of the account's reservations only those of addresses count.
   */
  async readPast(past: Past, targets: readonly BindTarget[]): Promise<Reservations> {
    const names = targets.flatMap(partsOf).map(nameOf);
    const held = new Set((await past.mentioning(reservedAddrsReadModel, names)).map(({ addr }) => addr));
    const none = { accounts: [], resting: [], since: 0, restingSince: null };
    const found = (name: string): Found => ({ name, holder: held.has(name) ? past.accountId : null, ...none });
    const byName = new Map(names.map((name) => [name, found(name)]));
    return this.reservationsOf(byName);
  }

  /** For each of these canonical hostports: the account that alone may serve it, null if none may, undefined if any may. */
  async servers(hostports: readonly string[]): Promise<readonly (string | null | undefined)[]> {
    const found = await Promise.all(hostports.map((hostport) => this.find(hostport)));
    return found.map((one, n) => one && this.ruling(addressOf(hostports[n] ?? ''), one)?.only);
  }

  /**
   * Which of the other names of an address keeps an account from reserving the address, since the account could not bind it.
   */
  async refusedAlias(accountId: string, addr: string, aliases: readonly string[]): Promise<string | undefined> {
    const others = this.deciding([addr, ...aliases].map(addressOf)).map(nameOf);
    const { refusalOf } = await this.read(others.map(addressTarget));
    return others.find((name) => name !== addr && refusalOf(accountId, addressTarget(name)) !== undefined);
  }

  private reservationsOf(found: ReadonlyMap<string, Found>): Reservations {
    return {
      refusalOf: (accountId, target, credentialIds) =>
        this.isOfOther(target, credentialIds) ? 'reserved_elsewhere' : this.refusalOf(accountId, target, found),
    };
  }

  /** Whether it is, or covers, what belongs to other credentials below TUNNEL_DOMAIN. */
  private isOfOther(target: BindTarget, credentialIds: readonly string[] | undefined): boolean {
    const { tunnelDomain } = this.policy;
    if (tunnelDomain === undefined || target.kind !== 'domain') return false;
    if (tunnelDomain.isShared(target.name)) return true;
    if (credentialIds === undefined || !tunnelDomain.isGiven(target.name)) return false;
    return !credentialIds.some((id) => tunnelDomain.givenName(id) === target.name);
  }

  private refusalOf(
    accountId: string,
    target: BindTarget,
    found: ReadonlyMap<string, Found>,
  ): ReservationReason | undefined {
    const rulings = this.deciding(partsOf(target)).flatMap((one) => {
      const reserved = found.get(nameOf(one));
      return (reserved && this.ruling(one, reserved)) ?? [];
    });
    const counting = rulings.find(({ since, only }) => since === null && only !== accountId);
    const ruling = counting ?? decidingOf(rulings.filter(({ since }) => since !== null));
    return ruling === undefined || ruling.only === accountId ? undefined : ruling.reason;
  }

  /** The names of an address that decide whose it is: those in a pool, if there are any. */
  private deciding(names: readonly Named[]): readonly Named[] {
    const pooled = names.filter(({ host, port }) => this.isInPool(host, port));
    return pooled.length > 0 ? pooled : names;
  }

  private ruling({ host, port }: Named, found: Found): Ruling | undefined {
    const { holder, accounts, resting, since } = found;
    if (holder !== null) return { only: holder, reason: 'reserved_elsewhere', since };
    const isPooled = this.isInPool(host, port);
    const [first, ...others] = isPooled ? [] : accounts;
    if (first === undefined) {
      if (resting.length > 0) return { only: null, reason: 'not_reserved', since: found.restingSince, resting };
      return isPooled ? { only: null, reason: 'not_reserved', since: Number.POSITIVE_INFINITY } : undefined;
    }
    // A wildcard can overlap what several accounts have or had.
    const isOne = others.length === 0 && resting.every((one) => one === first);
    return { only: isOne ? first : null, reason: 'reserved_elsewhere', since: isOne ? since : null };
  }

  /** Port 0 can become any port of the host, and without a port it is the whole host. */
  private isInPool(host: string, port = 0): boolean {
    const { addressPools } = this.policy;
    if (port !== 0) return poolOf(addressPools, host, port) !== undefined;
    return addressPools.some((pool) => covers(host, pool.host));
  }

  private readonly find = coalesced<Found>((names) => this.lookUp(names));
  /** Apart, since it can take long. */
  private readonly findWildcard = coalesced<Found>((names) => this.lookUp(names));

  private async lookUp(names: readonly string[]): Promise<ReadonlyMap<string, Found>> {
    const { rows } = await queryNamed<Found & object>(this.pool, FIND, [names]);
    return new Map(rows.map((row) => [row.name, row]));
  }
}

/**
 * Of the names of one address the oldest live reservation decides. A later one never counts, nor what rests of it. What
 * rests of an older one of another account counts, since its visitors must not meet a stranger.
 */
function decidingOf(rulings: readonly Ruling[]): Ruling | undefined {
  const byAge = rulings.toSorted(
    (a, b) => Number(a.since) - Number(b.since) || ((a.only ?? '') < (b.only ?? '') ? -1 : 1),
  );
  const live = byAge.find(({ only }) => only !== null)?.only;
  return byAge.find(({ resting }) => resting === undefined || resting.some((one) => one !== live));
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
