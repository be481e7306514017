import type { Pool } from 'pg';
import { onPrimary, type Ref } from '../../../database/index.js';
import { ChangeStreams, STREAM_LIMITS, type StreamEvent } from '../revocations/change-streams.js';
import type { ChangeWatch } from '../revocations/change-watch.js';
import { OF_RESERVATIONS } from '../revocations/credential-changes.js';
import {
  BEGAN_LATER,
  changesSince,
  type NewChanges,
  WAS_IN_PROGRESS,
  type Watermark,
} from '../revocations/watermark.js';

/** Beyond this many changes at once, gateways ask about everything anew. */
const MAX_CHANGES = 10_000;
/** One edge has at most 1,000. More than one account can change in a moment: see the limits of appends. */
const MAX_HOSTPORTS = 200_000;
/** A stream holds this many for a slow reader: the changes of one account must not end the streams of all gateways. */
const MAX_UNREAD_BYTES = 16 * 1024 * 1024;
const MAX_HOSTPORTS_IN_EVENT = 5_000;
const MAX_CHANGES_IN_EVENT = 1_000;

/**
 * An edge, a policy or a tunnel group that may have changed. A changed rule counts as a change of its policy. Without
 * an id (''): another hostport that edges of the account list, and that may be served for another account now.
 */
export interface ChangedEdgePart extends Ref {
  /** The hostports that the edge lists now, in canonical form. Empty for a policy or a group. */
  readonly hostports: readonly string[];
}

const PREFIXES = `('edgt', 'ipp_', 'ipr_', 'bkdt')`;
const REST = `make_interval(secs => $3::float8 / 1000)`;
/** In the words of the index on it. */
const RESTED = `r.deleted_at at time zone 'UTC' > ($2::timestamptz - ${REST}) at time zone 'UTC'
  and r.deleted_at at time zone 'UTC' <= ((select now from moment) - ${REST}) at time zone 'UTC'`;

/** All claims of hostports, in all accounts, at an address, at a host, or at the hosts under a wildcard. */
const CLAIMED_AT = `select c.account_id, substr(c.value, 10) as hostport from claims c where c.value = 'hostport:' || n.name
  union all
  select c.account_id, substr(c.value, 10) from claims c
    where c.value > 'hostport:' || n.name || ':' and c.value < 'hostport:' || n.name || ';'
  union all
  select c.account_id, substr(c.value, 10) from claims c
    where n.name like '*.%' and left(c.value, 9) = 'hostport:'
      and reverse(host_of(c.value)) collate "C" >= reverse(substr(n.name, 2)) collate "C"
      and reverse(host_of(c.value)) collate "C" < reverse(substr(n.name, 3)) || '/' collate "C"`;

/**
 * $1 and $2: snapshot and clock of the last look, see CredentialChanges, which finds its events in the same way; $3: for
 * how many milliseconds the name of a deleted reservation rests.
 */
const CHANGES = onPrimary({
  name: 'edge_changes',
  text: `with moment as materialized (select pg_current_snapshot() as snapshot, clock_timestamp() as now),
    appended as materialized (
      select e.account_id, e.stream_id from events e
        where ${BEGAN_LATER} and left(e.stream_id, 4) in ${PREFIXES}
      union all
      select e.account_id, e.stream_id from events e
        where ${WAS_IN_PROGRESS} and left(e.stream_id, 4) in ${PREFIXES}
      limit ${MAX_CHANGES + 1}),
    streams as materialized (select distinct account_id, stream_id from appended),
    changed as materialized (
      select s.account_id, s.stream_id as id from streams s where left(s.stream_id, 4) <> 'ipr_'
      union
      select s.account_id, (
          select e.data::json ->> 'ip_policy_id' from events e
          where e.account_id = s.account_id and e.stream_id = s.stream_id and e.stream_version = 1
        ) from streams s where left(s.stream_id, 4) = 'ipr_'),
    listed as materialized (
      select c.account_id, c.id, array(
          select h.hostport from tcp_edge_hostports h
          where h.account_id = c.account_id and h.edge_id = c.id
        ) as hostports
      from changed c where c.id is not null),
    reservations as materialized (
      select e.account_id, e.stream_id from events e where ${BEGAN_LATER} and ${OF_RESERVATIONS}
      union all
      select e.account_id, e.stream_id from events e where ${WAS_IN_PROGRESS} and ${OF_RESERVATIONS}
      limit ${MAX_CHANGES + 1}),
    names as materialized (
      select (
          select coalesce(e.data::json ->> 'addr', e.data::json ->> 'domain') from events e
          where e.account_id = r.account_id and e.stream_id = r.stream_id and e.stream_version = 1
        ) as name from reservations r
      union
      select r.name from resting_names r where ${RESTED}
      limit ${MAX_CHANGES + 1}),
    concerned as materialized (
      select claimed.* from names n cross join lateral (${CLAIMED_AT}) claimed limit ${MAX_HOSTPORTS + 1}),
    told as (
      select account_id, id, hostports from listed
      union all
      select distinct account_id, '', array[hostport] from concerned)
    select snapshot::text, pg_postmaster_start_time()::text as server, now::text,
      greatest((select count(*) from appended), (select count(*) from reservations), (select count(*) from names))
          > ${MAX_CHANGES}
        or (select count(*) from concerned) + (select coalesce(sum(cardinality(hostports)), 0) from listed)
          > ${MAX_HOSTPORTS} as "isTooMany",
      (select coalesce(json_agg(json_build_object('accountId', account_id, 'id', id, 'hostports',
          hostports)), '[]') from told) as changed
    from moment`,
});

/** Finds the edges, IP policies, tunnel groups and reservations of all accounts that may have changed since a watermark. */
export class EdgeChanges {
  constructor(
    private readonly pool: Pool,
    private readonly reservationRestMs: number,
  ) {}

  since(last: Watermark | undefined): Promise<NewChanges<ChangedEdgePart>> {
    const values = [last?.snapshot ?? null, last?.now ?? null, this.reservationRestMs];
    return changesSince(this.pool, CHANGES, values, last);
  }
}

/** A class of its own, so that it can be injected beside the streams about credentials. */
export class EdgeChangeStreams extends ChangeStreams<ChangedEdgePart> {
  constructor(watch: ChangeWatch<ChangedEdgePart>) {
    super(watch, edgeEvents, { ...STREAM_LIMITS, maxUnreadBytes: MAX_UNREAD_BYTES });
  }
}

/** The events about edges. Each is of one account; the accounts with the fewest hostports come first. */
function* edgeEvents(changed: readonly ChangedEdgePart[]): Generator<StreamEvent> {
  const ofAccounts = new Map<string, ChangedEdgePart[]>();
  for (const part of changed) {
    const parts = ofAccounts.get(part.accountId) ?? [];
    parts.push(part);
    ofAccounts.set(part.accountId, parts);
  }
  const hostportsOf = (parts: readonly ChangedEdgePart[]): number =>
    parts.reduce((sum, { hostports }) => sum + hostports.length, 0);
  for (const [account_id, parts] of [...ofAccounts].sort(([, a], [, b]) => hostportsOf(a) - hostportsOf(b))) {
    for (const some of slicesOf(parts)) {
      const hostports = [...new Set(some.flatMap((part) => part.hostports))];
      yield { name: 'changed', data: { account_id, ids: some.map(({ id }) => id).filter(Boolean), hostports } };
    }
  }
}

function* slicesOf(parts: readonly ChangedEdgePart[]): Generator<readonly ChangedEdgePart[]> {
  let [slice, hostports]: [ChangedEdgePart[], number] = [[], 0];
  for (const part of parts) {
    hostports += part.hostports.length;
    if (slice.length === MAX_CHANGES_IN_EVENT || (slice.length > 0 && hostports > MAX_HOSTPORTS_IN_EVENT)) {
      yield slice;
      [slice, hostports] = [[], part.hostports.length];
    }
    slice.push(part);
  }
  if (slice.length > 0) yield slice;
}
