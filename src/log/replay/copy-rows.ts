import { once } from 'node:events';
import type { ClientBase } from 'pg';
import { from } from 'pg-copy-streams';
import type { AnyReadModel, Row, Table } from '../read-model.js';
import type { RowTarget } from './send-rows.js';

/** Targets that write into the tables of a read model, in this schema. */
export async function copyInto(client: ClientBase, { tables }: AnyReadModel, schema: string): Promise<RowTarget[]> {
  const targets: RowTarget[] = [];
  for (const table of tables) targets.push(await copyTarget(client, table, `"${schema}".${table.name}`));
  return targets;
}

/** JSON does not tell a `text[]` from a `jsonb` list, so the live table does. Its copies have the same types. */
const ARRAY_COLUMNS = `select attname as name from pg_attribute join pg_type t on t.oid = atttypid
  where attrelid = to_regclass($1) and attnum > 0 and not attisdropped and typcategory = 'A'`;

/**
 * A target that writes rows of `table` into a table with the same columns, by COPY in text format: PostgreSQL takes a third
 * of the time that the same rows take as JSON.
 */
export async function copyTarget(client: ClientBase, table: Table<unknown>, into: string): Promise<RowTarget> {
  const found = await client.query<{ name: string }>(ARRAY_COLUMNS, [table.name]);
  const arrays = new Set(found.rows.map(({ name }) => name));
  const fields = table.columns.map((name) => ({ name, isArray: arrays.has(name) }));
  const lineOf = (row: Row): string =>
    `${fields.map(({ name, isArray }) => fieldText(row[name], isArray)).join('\t')}\n`;
  return {
    table,
    encode: (rows) => rows.map((row) => lineOf(row as Row)).join(''),
    send: async (texts) => {
      const copy = client.query(from(`copy ${into} (${table.columns.join(', ')}) from stdin`));
      copy.end(texts.join(''));
      await once(copy, 'finish');
    },
  };
}

function fieldText(value: unknown, isArray: boolean): string {
  if (typeof value === 'string') return escaped(value);
  if (value === null || value === undefined) return '\\N';
  if (value instanceof Date) return value.toISOString();
  if (typeof value !== 'object') return String(value);
  return escaped(isArray ? arrayLiteral(value as readonly string[]) : JSON.stringify(value));
}

/** PostgreSQL has no escape but the backslash within the quotes of an array. */
const arrayLiteral = (values: readonly string[]): string =>
  `{${values.map((value) => `"${value.replace(/["\\]/g, '\\$&')}"`).join(',')}}`;

const SPECIAL = /[\\\n\r\t]/;
const ESCAPES: Readonly<Record<string, string>> = { '\\': '\\\\', '\n': '\\n', '\r': '\\r', '\t': '\\t' };

const escaped = (text: string): string =>
  SPECIAL.test(text) ? text.replace(/[\\\n\r\t]/g, (character) => ESCAPES[character] ?? character) : text;
