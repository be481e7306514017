import type { Pool } from 'pg';
import { onPrimary, type Ref } from '../../../database/index.js';
import type { LogTail, TailEvent } from '../../../event-log/index.js';
import { LogChangeStreams, STREAM_LIMITS, type StreamEvent, TOLD } from '../revocations/change-streams.js';
import { isOfReservation, nameOf } from '../revocations/credential-changes.js';

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

/** In the words of the index on it. */
const RESTED = `r.until at time zone 'UTC' > $2::timestamptz at time zone 'UTC'
  and r.until at time zone 'UTC' <= $3::timestamptz at time zone 'UTC'`;

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

const CHANGES = onPrimary({
  name: 'edge_changes',
  text: `with ${TOLD},
    streams as materialized (select distinct account_id, stream_id from told where left(stream_id, 3) not in ('ra_', 'rd_')),
    changed as materialized (
      select s.account_id, s.stream_id as id from streams s where left(s.stream_id, 4) <> 'ipr_'
      union
      select s.account_id, (
          select e.data::json ->> 'ip_policy_id' from events e
          where e.account_id = s.account_id and e.stream_id = s.stream_id and e.stream_version = 1
        ) from streams s where left(s.stream_id, 4) = 'ipr_'
      union
      (select t.account_id, t.id from tcp_edges t where t.expires_at > $2::timestamptz and t.expires_at <= $3::timestamptz
        limit ${MAX_CHANGES + 1})),
    listed as materialized (
      select c.account_id, c.id, array(
          select h.hostport from tcp_edge_hostports h
          where h.account_id = c.account_id and h.edge_id = c.id
        ) as hostports
      from changed c where c.id is not null),
    names as materialized (
      select ${nameOf('told')} as name from told where left(stream_id, 3) in ('ra_', 'rd_')
      union
      select r.name from resting_names r where ${RESTED}
      limit ${MAX_CHANGES + 1}),
    concerned as materialized (
      select claimed.* from names n cross join lateral (${CLAIMED_AT}) claimed limit ${MAX_HOSTPORTS + 1}),
    found as (
      select account_id, id, hostports from listed
      union all
      select distinct account_id, '', array[hostport] from concerned)
    select greatest((select count(*) from names), (select count(*) from changed)) > ${MAX_CHANGES}
        or (select count(*) from concerned) + (select coalesce(sum(cardinality(hostports)), 0) from listed)
          > ${MAX_HOSTPORTS} as "isTooMany",
      (select coalesce(json_agg(json_build_object('accountId', account_id, 'id', id, 'hostports',
          hostports)), '[]') from found) as changed`,
});

/** Tells of the edges, IP policies, tunnel groups and reservations of all accounts that may have changed. */
export class EdgeChanges extends LogChangeStreams<ChangedEdgePart> {
  protected readonly statement = CHANGES;

  constructor(tail: Pick<LogTail, 'add' | 'remove'>, pool: Pool, warn: (message: string) => void) {
    super(tail, pool, warn, { ...STREAM_LIMITS, maxUnreadBytes: MAX_UNREAD_BYTES });
  }

  protected concerns(event: TailEvent): boolean {
    return /^(edgt|ipp_|ipr_|bkdt)/.test(event.stream_id) || isOfReservation(event);
  }

  /** Each event is of one account; the accounts with the fewest hostports come first. */
  protected *eventsOf(changed: readonly ChangedEdgePart[]): Generator<StreamEvent> {
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
