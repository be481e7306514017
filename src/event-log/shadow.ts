import type { Client } from 'pg';
import type { AnyReadModel } from './read-model.js';
import { eventsOf, IN_INDEX_ORDER, isOfModel, REPLAYED_COLUMNS, type ReplayedStream, replay } from './replay.js';
import type { RowWriter } from './row-writer.js';
import { REPLACED, RebuildError, SHADOWS, shapeOf, type TableShape } from './table-shape.js';

const LOCK = `${SHADOWS}.running`;

/**
 * Takes the right to rebuild for as long as this connection's transaction lasts. A row's lock rather than an advisory one:
 * it goes with its transaction, whatever pooler stands between.
 */
export async function takeTurn(client: Client): Promise<void> {
  await client.query(`create schema if not exists ${SHADOWS}`);
  await client.query(`create table if not exists ${LOCK} (id int primary key)`);
  await client.query(`insert into ${LOCK} values (1) on conflict do nothing`);
  await client.query('begin; set local idle_in_transaction_session_timeout = 0');
  const { rows } = await client.query(`select id from ${LOCK} for update skip locked`);
  if (rows.length === 0) throw new RebuildError('another rebuild is running; wait for its end');
}

/** Takes away what an interrupted run left behind, or a finished one has replaced. */
export async function dropLeftovers(client: Client): Promise<void> {
  const { rows } = await client.query<{ name: string }>(
    `select format('%I.%I', schemaname, tablename) as name from pg_tables where schemaname in ($1, $2)`,
    [SHADOWS, REPLACED],
  );
  for (const { name } of rows) if (name !== LOCK) await client.query(`drop table ${name}`);
}

/** Empty tables beside the live ones, and where in each account's log their rows stand: at its beginning. */
export async function makeShadows(client: Client, shapes: readonly TableShape[]): Promise<void> {
  await client.query(`create schema if not exists ${REPLACED}`);
  for (const statement of shapes.flatMap(({ create }) => create)) await client.query(statement);
  await client.query(
    `create unlogged table ${SHADOWS}.heads (account_id text collate "C" primary key, size bigint not null)`,
  );
  await client.query(`create unlogged table ${SHADOWS}.moment (since xid8 not null)`);
  await client.query(
    `create unlogged table ${SHADOWS}.touched (account_id text collate "C", stream_id text collate "C")`,
  );
}

export const shapesOf = async (client: Client, { tables }: AnyReadModel): Promise<TableShape[]> => {
  const shapes: TableShape[] = [];
  for (const { name } of tables) shapes.push(await shapeOf(client, name));
  return shapes;
};

/** Fills the empty shadows with all there is. What is written meanwhile comes with the gaps. */
export async function fill(
  { reader, writer, rows }: { readonly reader: Client; readonly writer: Client; readonly rows: RowWriter },
  model: AnyReadModel,
  onEvents: (count: number) => void,
): Promise<void> {
  // Before the reader's moment: what lies between the two is read twice and not missed.
  await writer.query(noteHeads);
  await reader.query(IN_INDEX_ORDER);
  await writeAll(replay(reader, model, eventsOf(model), onEvents), rows);
}

/** Writes the rows of every stream that still is. */
export async function writeAll(
  replayed: AsyncIterable<ReplayedStream[]> | Iterable<ReplayedStream[]>,
  rows: RowWriter,
): Promise<void> {
  for await (const streams of replayed) {
    for (const { entity } of streams) {
      const full = entity === undefined ? undefined : rows.write(entity);
      if (full !== undefined) await full;
    }
  }
  await rows.finish();
}

/** Where the log is now, and since when what is not seen here can have come: the oldest transaction that still runs. */
export const noteHeads = `with seen as (insert into ${SHADOWS}.heads select account_id, size from log_heads)
  insert into ${SHADOWS}.moment select pg_snapshot_xmin(pg_current_snapshot())`;

/**
 * The heads that have moved. Joining those of all accounts with the noted ones would take a second of 100,000 accounts,
 * while everyone waits: only the rows of young transactions are, and to find them is one look at each. (`age` is that
 * of the row's transaction. Where it is wrong, as of rows older than two billion transactions, it is too young.)
 */
const MOVED_HEADS = `select h.account_id, coalesce(seen.size, 0) as after, h.size as up_to
  from (select account_id, size from log_heads
    where age(xmin) <= (select age(since::xid) from ${SHADOWS}.moment) offset 0) h
  left join lateral (select size from ${SHADOWS}.heads seen where seen.account_id = h.account_id offset 0) seen on true
  where h.size is distinct from seen.size`;

/** How far behind the log the shadows are: the events that came since, and all events of the streams they belong to. */
export interface Lag {
  readonly events: number;
  readonly toFold: number;
}

/**
 * Notes which streams have events that the shadows do not show, moves `heads` to where the log is now, and takes the rows
 * of those streams away. One statement sees one moment.
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
    moved as (
      insert into ${SHADOWS}.heads as h select account_id, up_to from now
      on conflict (account_id) do update set size = excluded.size),
    looked as (update ${SHADOWS}.moment set since = pg_snapshot_xmin(pg_current_snapshot())),
    noted as (insert into ${SHADOWS}.touched select account_id, stream_id from new)
    select coalesce(sum(events), 0)::int as events, coalesce(sum(version), 0)::int as to_fold from new`);
  const lag = { events: rows[0]?.events ?? 0, toFold: rows[0]?.to_fold ?? 0 };
  if (lag.events === 0) return lag;
  for (const { name, primaryKey } of model.tables) {
    await client.query(`delete from ${SHADOWS}.${name} where ctid = any (array (
      select t.ctid from ${SHADOWS}.touched g cross join lateral (select t.ctid from ${SHADOWS}.${name} t
        where t.account_id = g.account_id and t.${primaryKey[1]} = g.stream_id offset 0) t))`);
  }
  return lag;
}

/** Every event, up to `heads`, of the streams that `openGap` noted. */
export const eventsOfGap = `select ${REPLAYED_COLUMNS.map((column) => `e.${column}`).join(', ')}
  from ${SHADOWS}.touched g join ${SHADOWS}.heads h on h.account_id = g.account_id
  cross join lateral (select * from events e
    where e.account_id = g.account_id and e.stream_id = g.stream_id and e.position <= h.size offset 0) e
  order by e.account_id, e.stream_id, e.stream_version`;

/** A gap is few rows against the whole log, so it is looked up row by row (lateral ... offset 0), by index, whatever the statistics say. */
export const BY_INDEX = 'set local enable_seqscan = off';
