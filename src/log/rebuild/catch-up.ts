import type { Client } from 'pg';
import type { AnyReadModel } from '../read-model.js';
import { isOfModel, REPLAYED_EVENT } from '../replay/replay.js';
import { SHADOWS } from './table-shape.js';

/**
 * Records the heads of all logs, and the oldest running transaction: a change that this statement cannot see belongs to
 * that transaction or a later one.
 */
export const RECORD_HEADS = `with seen as (insert into ${SHADOWS}.heads select account_id, size from log_heads)
  insert into ${SHADOWS}.moment select pg_snapshot_xmin(pg_current_snapshot())`;

/**
 * Selects the heads that moved since RECORD_HEADS, by the age of the transaction that wrote the row. A join of all
 * heads would block the service for 70 ms and more with 100,000 accounts. For rows older than two billion transactions
 * `age` is wrong, but then too low, so that the row is checked.
 */
const MOVED_HEADS = `select h.account_id, coalesce(seen.size, 0) as after, h.size as up_to
  from (select account_id, size from log_heads
    where age(xmin) <= (select age(since::xid) from ${SHADOWS}.moment) offset 0) h
  left join lateral (select size from ${SHADOWS}.heads seen where seen.account_id = h.account_id offset 0) seen on true
  where h.size is distinct from seen.size`;

/** How far the shadows lag behind the log: the new events, and the number of events to fold to show them. */
export interface Lag {
  readonly events: number;
  readonly toFold: number;
}

/**
 * Begins a catch-up: records the streams with new events and the version to read each from, moves `heads` to the end of
 * the logs, and deletes the shadow rows of those streams. One statement does the first two, so it sees one snapshot.
 */
export async function beginCatchUp(client: Client, model: AnyReadModel): Promise<Lag> {
  // Not truncate, which creates a new file: during a swap all requests wait for this statement.
  await client.query(`delete from ${SHADOWS}.touched`);
  const { rows } = await client.query<{ events: number; to_fold: number }>(`
    with now as materialized (${MOVED_HEADS}),
    new as materialized (
      select e.account_id, e.stream_id, count(*) as events, max(e.stream_version) as version
      from now cross join lateral (select * from events e where e.account_id = now.account_id
        and e.position > now.after and e.position <= now.up_to offset 0) e
      where ${isOfModel(model)} group by 1, 2),
    unseen as materialized (
      select new.*, coalesce(known.version, 0) as after from new left join lateral (select version from ${SHADOWS}.known k
        where k.account_id = new.account_id and k.stream_id = new.stream_id offset 0) known on true),
    moved as (
      insert into ${SHADOWS}.heads as h select account_id, up_to from now
      on conflict (account_id) do update set size = excluded.size),
    horizon as (update ${SHADOWS}.moment set since = pg_snapshot_xmin(pg_current_snapshot())),
    recorded as (insert into ${SHADOWS}.touched select account_id, stream_id, after from unseen)
    select coalesce(sum(events), 0)::int as events, coalesce(sum(version - after), 0)::int as to_fold from unseen`);
  const lag = { events: rows[0]?.events ?? 0, toFold: rows[0]?.to_fold ?? 0 };
  if (lag.events === 0) return lag;
  for (const { name, primaryKey } of model.tables) {
    await client.query(`delete from ${SHADOWS}.${name} where ctid = any (array (
      select t.ctid from ${SHADOWS}.touched cross join lateral (select t.ctid from ${SHADOWS}.${name} t
        where t.account_id = touched.account_id and t.${primaryKey[1]} = touched.stream_id offset 0) t))`);
  }
  return lag;
}

/** Counts the events of a read model that are after `heads` in the snapshot of this connection. */
export async function eventsSinceHeads(client: Client, model: AnyReadModel): Promise<number> {
  const { rows } = await client.query<{ events: number }>(`with now as materialized (${MOVED_HEADS})
    select count(*)::int as events from now cross join lateral (select * from events e where e.account_id = now.account_id
      and e.position > now.after and e.position <= now.up_to offset 0) e where ${isOfModel(model)}`);
  return rows[0]?.events ?? 0;
}

/** Selects the events, up to `heads`, of the streams that `beginCatchUp` recorded, after the version recorded there. */
export const CATCH_UP_EVENTS = `select ${REPLAYED_EVENT}
  from ${SHADOWS}.touched join ${SHADOWS}.heads h on h.account_id = touched.account_id
  cross join lateral (select * from events e where e.account_id = touched.account_id and e.stream_id = touched.stream_id
    and e.stream_version > touched.after and e.position <= h.size offset 0) e
  order by e.account_id, e.stream_id, e.stream_version`;

/** A catch-up reads few rows, each by index (lateral ... offset 0), regardless of the statistics. */
export const BY_INDEX = 'set local enable_seqscan = off';
