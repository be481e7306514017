import type { Client } from 'pg';
import type { AnyReadModel } from '../read-model.js';
import { eventsOf, IN_INDEX_ORDER, type ReplayedStream, replay } from '../replay/replay.js';
import type { RowWriter } from '../replay/row-writer.js';
import { NOTE_HEADS } from './catch-up.js';
import type { KnownStreams } from './known-streams.js';
import { REPLACED, SHADOWS, shapeOf, type TableShape } from './table-shape.js';

/** What a run keeps beside the shadows: where they stand in the logs. */
const NOTES: Readonly<Record<string, string>> = {
  heads: 'account_id text collate "C" primary key, size bigint not null',
  moment: 'since xid8 not null',
  touched: 'account_id text collate "C", stream_id text collate "C", after int',
  known: 'account_id text collate "C", stream_id text collate "C", version int, primary key (account_id, stream_id)',
};

/** Takes away what an interrupted run left behind, or a finished one has replaced; nothing that may be someone else's. */
export async function dropLeftovers(client: Client, models: readonly AnyReadModel[]): Promise<void> {
  const shadows = models.flatMap(({ tables }) => tables.map(({ name }) => name));
  const { rows } = await client.query<{ name: string }>(
    `select format('%I.%I', schemaname, tablename) as name from pg_tables
     where schemaname = $1 and tablename = any ($3) or schemaname = $2 and tablename = any ($4)`,
    [SHADOWS, REPLACED, [...shadows, ...Object.keys(NOTES)], shadows],
  );
  for (const { name } of rows) await client.query(`drop table ${name}`);
}

/** Empty tables beside the live ones, and where in each account's log their rows stand: at its beginning. */
export async function makeShadows(client: Client, shapes: readonly TableShape[]): Promise<void> {
  await client.query(`create schema if not exists ${REPLACED}`);
  for (const statement of shapes.flatMap(({ create }) => create)) await client.query(statement);
  for (const [name, columns] of Object.entries(NOTES)) {
    await client.query(`create unlogged table ${SHADOWS}.${name} (${columns})`);
  }
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
  await writer.query(NOTE_HEADS);
  await reader.query(IN_INDEX_ORDER);
  await writeAll(replay(reader, model, eventsOf(model), onEvents), rows);
}

/** Writes the rows of every stream that still is. */
export async function writeAll(
  replayed: AsyncIterable<ReplayedStream[]> | Iterable<ReplayedStream[]>,
  rows: RowWriter,
  known?: KnownStreams,
): Promise<void> {
  for await (const streams of replayed) {
    for (const stream of streams) {
      known?.note(stream);
      const full = stream.entity === undefined ? undefined : rows.write(stream.entity);
      if (full !== undefined) await full;
    }
  }
  await rows.finish();
}
