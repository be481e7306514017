import type { Client } from 'pg';
import { PostgresFailure } from '../../database/index.js';
import { LogFileError, RECORDS, type RecordLine } from './log-file.js';

/** Inserts records unchanged. `lines` says where they are in the file, for messages. */
export async function insertRecords(client: Client, records: readonly RecordLine[], lines: string): Promise<void> {
  for (const [table, rows] of byTable(records)) {
    await refuseUnknownFields(client, table, rows, lines);
    // A file of before has no time at which its records settled.
    const base = `jsonb_populate_record(null::${table}, jsonb_build_object('settled_at', clock_timestamp()))`;
    const text = `insert into ${table} select * from json_populate_recordset(${base}, $1)`;
    try {
      await client.query(text, [JSON.stringify(rows)]);
    } catch (error) {
      const { isAboutData, constraint } = PostgresFailure.of(error);
      if (!isAboutData) throw error;
      // The message of the server would show the value.
      const why = constraint === undefined ? 'a value is not of the type of its column' : `${constraint} is violated`;
      throw new LogFileError(`${lines}: a record of ${table} is refused: ${why}`);
    }
  }
}

/** An import sets these columns if a file lacks them. */
const OF_THIS_SERVER = `'{settled_at,transaction_id}'::text[]`;

/** Whether the tables have all of these records, field by field. */
export async function areThere(client: Client, records: readonly RecordLine[]): Promise<boolean> {
  for (const [table, rows, key] of byTable(records)) {
    const text = `select count(*)::int as there from json_populate_recordset(null::${table}, $1) r join ${table} t
      using (account_id, ${key}) where to_jsonb(t) - ${OF_THIS_SERVER} = to_jsonb(r) - ${OF_THIS_SERVER}`;
    const { rows: counts } = await client.query<{ there: number }>(text, [JSON.stringify(rows)]);
    if (counts[0]?.there !== rows.length) return false;
  }
  return true;
}

type OfTable = readonly [table: string, rows: readonly RecordLine['row'][], key: string];

function byTable(records: readonly RecordLine[]): readonly OfTable[] {
  return RECORDS.map(({ table, order }): OfTable => {
    const rows = records.flatMap((record) => (record.table === table ? [record.row] : []));
    return [table, rows, order];
  }).filter(([, rows]) => rows.length > 0);
}

/**
 * Refuses fields that the table lacks, which a later version may have added. PostgreSQL would drop them without an
 * error.
 */
async function refuseUnknownFields(client: Client, table: string, rows: OfTable[1], lines: string): Promise<void> {
  const { rows: columns } = await client.query<{ name: string }>(COLUMNS, [table]);
  const known = new Set(columns.map(({ name }) => name));
  const unknown = rows.flatMap((row) => Object.keys(row)).find((name) => !known.has(name));
  if (unknown === undefined) return;
  throw new LogFileError(`${lines}: a record of ${table} has a field that this version does not know`);
}

const COLUMNS =
  'select attname as name from pg_attribute where attrelid = to_regclass($1) and attnum > 0 and not attisdropped';
