import type { Client } from 'pg';
import type { AnyReadModel } from '../read-model.js';
import { copyInto } from '../replay/copy-rows.js';
import { eventsOf, IN_INDEX_ORDER, replay } from '../replay/replay.js';
import { sendRows } from '../replay/send-rows.js';
import { REPLACED, SHADOWS, shapeOf, type TableShape } from './table-shape.js';

/** Bookkeeping tables beside the shadows: they say up to which position of each log the shadows are filled. */
const BOOKKEEPING: Readonly<Record<string, string>> = {
  heads: 'account_id text collate "C" primary key, size bigint not null',
  moment: 'since xid8 not null',
  touched: 'account_id text collate "C", stream_id text collate "C", after int',
  known: 'account_id text collate "C", stream_id text collate "C", version int, primary key (account_id, stream_id)',
};

/** The tables that an interrupted run left or a finished run replaced. Only tables with known names are among them. */
export async function leftovers(client: Client, models: readonly AnyReadModel[]): Promise<string[]> {
  const shadows = models.flatMap(({ tables }) => tables.map(({ name }) => name));
  const { rows } = await client.query<{ name: string }>(
    `select format('%I.%I', schemaname, tablename) as name from pg_tables
     where schemaname = $1 and tablename = any ($3) or schemaname = $2 and tablename = any ($4) order by tablename`,
    [SHADOWS, REPLACED, [...shadows, ...Object.keys(BOOKKEEPING)], shadows],
  );
  return rows.map(({ name }) => name);
}

/** Creates empty shadows of the live tables, and the bookkeeping tables. */
export async function createShadows(client: Client, shapes: readonly TableShape[]): Promise<void> {
  await client.query(`create schema if not exists ${REPLACED}`);
  for (const statement of shapes.flatMap(({ create }) => create)) await client.query(statement);
  for (const [name, columns] of Object.entries(BOOKKEEPING)) {
    await client.query(`create unlogged table ${SHADOWS}.${name} (${columns})`);
  }
}

export const shapesOf = async (client: Client, { tables }: AnyReadModel): Promise<TableShape[]> => {
  const shapes: TableShape[] = [];
  for (const { name } of tables) shapes.push(await shapeOf(client, name));
  return shapes;
};

/** Fills the empty shadows from the whole log. Catch-ups add the events that are appended meanwhile. */
export async function fill(
  { reader, writer }: { readonly reader: Client; readonly writer: Client },
  model: AnyReadModel,
  onEvents: (count: number) => void,
): Promise<void> {
  await reader.query(IN_INDEX_ORDER);
  await sendRows(replay(reader, model, eventsOf(model), { onEvents }), await copyInto(writer, model, SHADOWS));
}
