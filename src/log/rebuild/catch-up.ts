import type { Client } from 'pg';
import type { AnyReadModel } from '../read-model.js';
import { isOfModel, REPLAYED_COLUMNS } from '../replay/replay.js';
import { SHADOWS } from './table-shape.js';

/** Where the logs are now, and since when what is not seen here can have come: the oldest transaction that still runs. */
export const NOTE_HEADS = `with seen as (insert into ${SHADOWS}.heads select account_id, size from log_heads)
  insert into ${SHADOWS}.moment select pg_snapshot_xmin(pg_current_snapshot())`;

/**
 * The heads that have moved. To join those of all accounts with the noted ones would take 70 ms and more of 100,000
 * accounts while everyone waits; to see which rows young transactions wrote is one look at each. (`age` is that of
 * the row's transaction. Of rows older than two billion transactions it is wrong, but then it makes them too young.)
 */
const MOVED_HEADS = `select h.account_id, coalesce(seen.size, 0) as after, h.size as up_to
  from (select account_id, size from log_heads
    where age(xmin) <= (select age(since::xid) from ${SHADOWS}.moment) offset 0) h
  left join lateral (select size from ${SHADOWS}.heads seen where seen.account_id = h.account_id offset 0) seen on true
  where h.size is distinct from seen.size`;

/** How far behind the log the shadows are: the events that came since, and those that must be folded to show them. */
export interface Lag {
  readonly events: number;
  readonly toFold: number;
}

/**
 * Notes which streams have events that the shadows do not show, and after which version they are to be read; moves `heads`
 * to where the log is now, and takes the rows of those streams away. One statement sees one moment.
 */
export async function openGap(client: Client, model: AnyReadModel): Promise<Lag> {
  // Not by truncate, which makes a new file: this is done while everyone waits.
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
    looked as (update ${SHADOWS}.moment set since = pg_snapshot_xmin(pg_current_snapshot())),
    noted as (insert into ${SHADOWS}.touched select account_id, stream_id, after from unseen)
    select coalesce(sum(events), 0)::int as events, coalesce(sum(version - after), 0)::int as to_fold from unseen`);
  const lag = { events: rows[0]?.events ?? 0, toFold: rows[0]?.to_fold ?? 0 };
  if (lag.events === 0) return lag;
  for (const { name, primaryKey } of model.tables) {
    await client.query(`delete from ${SHADOWS}.${name} where ctid = any (array (
      select t.ctid from ${SHADOWS}.touched g cross join lateral (select t.ctid from ${SHADOWS}.${name} t
        where t.account_id = g.account_id and t.${primaryKey[1]} = g.stream_id offset 0) t))`);
  }
  return lag;
}

/** The events, up to `heads`, of the streams that `openGap` noted: all of a stream, or those that are not known. */
export const EVENTS_OF_GAP = `select ${REPLAYED_COLUMNS.map((column) => `e.${column}`).join(', ')}
  from ${SHADOWS}.touched g join ${SHADOWS}.heads h on h.account_id = g.account_id
  cross join lateral (select * from events e where e.account_id = g.account_id and e.stream_id = g.stream_id
    and e.stream_version > g.after and e.position <= h.size offset 0) e
  order by e.account_id, e.stream_id, e.stream_version`;

/** A gap is few rows against the whole log, so it is looked up row by row (lateral ... offset 0), by index, whatever the statistics say. */
export const BY_INDEX = 'set local enable_seqscan = off';
