import type { ClientBase } from 'pg';
import type { Table } from '../read-model.js';
import { logRows, type StreamPlace, streamColumn } from './row-comparison.js';

/** A unique index other than the primary key, as PostgreSQL's catalogs describe it. */
interface UniqueIndex {
  /** Columns or expressions. */
  readonly keys: readonly string[];
  readonly condition: string;
}

/** The streams of live rows that hold a unique value which a wanted row with another key needs. */
export async function conflictingStreams(
  client: ClientBase,
  table: Table<object>,
  wanted: readonly object[],
): Promise<readonly StreamPlace[]> {
  const { rows: indexes } = await client.query<UniqueIndex>(UNIQUE_INDEXES, [table.name]);
  const found: StreamPlace[] = [];
  for (const index of indexes) {
    const { rows } = await client.query<StreamPlace>(holders(table, index), [JSON.stringify(wanted)]);
    found.push(...rows);
  }
  return found;
}

const UNIQUE_INDEXES = `select array(
    select pg_get_indexdef(indexrelid, n, true) from generate_series(1, indnkeyatts) n order by n) as keys,
    coalesce(pg_get_expr(indpred, indrelid), 'true') as condition
  from pg_index where indrelid = to_regclass($1) and indisunique and not indisprimary`;

function holders(table: Table<object>, { keys, condition }: UniqueIndex): string {
  const values = keys.map((key, n) => `${key} as value_${n}`);
  const selected = (from: string): string =>
    `select ${[...table.primaryKey, ...values]} from ${from} where ${condition}`;
  const equal = keys.map((_, n) => `live.value_${n} = wanted.value_${n}`);
  const keyOf = (side: string): string => table.primaryKey.map((column) => `${side}.${column}`).join(', ');
  return `select distinct live.account_id as "accountId", live.${streamColumn(table)} as id
    from (${selected(table.name)}) live join (${selected(`(${logRows(table)}) log`)}) wanted on ${equal.join(' and ')}
    where (${keyOf('live')}) <> (${keyOf('wanted')})`;
}
