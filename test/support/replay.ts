import { expect } from '@jest/globals';
import type { Pool } from 'pg';
import type { DomainEvent } from '../../src/event-log/event.js';
import { currentEvent, type Entity, fold, type ReadModel, type Table } from '../../src/event-log/read-model.js';

type TableColumns = Pick<Table<never>, 'name' | 'columns'>;

/**
 * Asserts that the live rows of a read model equal the fold of its events, bit for bit, in every table and account.
 * PostgreSQL itself reads the replayed rows into the table's types, so only a difference in value counts.
 */
export async function expectRowsToBeTheFoldOfTheLog<State, Event extends DomainEvent>(
  pool: Pool,
  model: ReadModel<State, Event>,
): Promise<void> {
  const entities = await replay(pool, model);
  for (const table of model.tables) {
    await expectAllColumns(pool, table);
    expect(await liveRows(pool, table)).toEqual(await replayedRows(pool, table, entities));
  }
}

/** Every entity of every account, folded from the log one event at a time. */
async function replay<State, Event extends DomainEvent>(
  pool: Pool,
  model: ReadModel<State, Event>,
): Promise<Entity<State>[]> {
  const entities = new Map<string, Entity<State> | undefined>();
  const { rows } = await pool.query(
    `select account_id, stream_id, stream_version, type, data, occurred_at from events
     where split_part(stream_id, '_', 1) = any($1) order by account_id, position`,
    [model.streamPrefixes],
  );
  for (const { account_id: accountId, stream_id: id, stream_version, type, data, occurred_at } of rows) {
    const before = entities.get(id);
    const event = currentEvent(model, { type, data: JSON.parse(data) });
    if (event === undefined) throw new Error(`unknown type ${type}`);
    const after = fold(model, { accountId, id }, before, [event], occurred_at);
    if (after !== undefined) expect([id, after.version]).toEqual([id, stream_version]);
    entities.set(id, after);
  }
  return [...entities.values()].filter((entity) => entity !== undefined);
}

/** The comparison would miss a column that the read model does not name. */
async function expectAllColumns(pool: Pool, { name, columns }: TableColumns): Promise<void> {
  const { rows } = await pool.query(
    "select column_name from information_schema.columns where table_name = $1 and table_schema = current_schema() and is_generated = 'NEVER'",
    [name],
  );
  expect(rows.map((row) => row.column_name).sort()).toEqual([...columns].sort());
}

const liveRows = (pool: Pool, table: TableColumns): Promise<string[]> => rowsAsText(pool, table, table.name, []);

const replayedRows = <State>(pool: Pool, table: Table<State>, entities: readonly Entity<State>[]): Promise<string[]> =>
  rowsAsText(pool, table, `json_populate_recordset(null::${table.name}, $1::json)`, [
    JSON.stringify(entities.flatMap((entity) => table.rowsOf(entity))),
  ]);

async function rowsAsText(pool: Pool, { columns }: TableColumns, from: string, values: string[]): Promise<string[]> {
  const list = columns.map((column) => `t.${column}`).join(', ');
  const { rows } = await pool.query(`select row(${list})::text as row from ${from} t`, values);
  return rows.map(({ row }) => row).sort();
}
