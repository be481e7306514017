import type { Client } from 'pg';
import { fetchRows } from '../../database/cursor.js';
import type { Table } from '../read-model.js';
import { copyTarget } from '../replay/copy-rows.js';
import type { ReplayedStream } from '../replay/replay.js';
import type { RowTarget } from '../replay/send-rows.js';

/** A field of a live row that differs from the log. The field `(row)` stands for a row that only one side has. */
export interface Difference {
  readonly table: string;
  readonly account: string;
  /** The rest of the row's key, its parts separated by blanks. */
  readonly key: string;
  readonly field: string;
  /** JSON or NULL, shortened if long; `(hidden)` for a field that the API does not show either. */
  readonly live: string;
  /** In the same form. */
  readonly log: string;
}

const MAX_VALUE_CHARACTERS = 60;

/**
 * Compares the live rows of a table with the rows that the log makes. PostgreSQL itself compares them, one range of
 * streams after another, so memory holds the rows of one range.
 */
export class TableDiff implements RowTarget {
  rows = 0;
  differences = 0;
  /** Account and stream with which the next range begins. */
  private from: readonly [account: string, id: string];

  private constructor(
    private readonly client: Client,
    private readonly logRows: RowTarget,
    private readonly account: string | undefined,
    private readonly onDifference: (difference: Difference) => void,
  ) {
    this.from = [account ?? '', ''];
  }

  /** `client`: in a transaction that can read the live rows, and write the log's rows into a temporary table. */
  static async of(
    client: Client,
    table: Table<unknown>,
    account: string | undefined,
    onDifference: (difference: Difference) => void,
  ): Promise<TableDiff> {
    const log = logTable(table);
    const columns = table.columns.join(', ');
    await client.query(`create temporary table ${log} on commit drop as select ${columns} from ${table.name} limit 0`);
    return new TableDiff(client, await copyTarget(client, table, log), account, onDifference);
  }

  get table(): Table<unknown> {
    return this.logRows.table;
  }

  encode(rows: readonly object[]): string {
    return this.logRows.encode(rows);
  }

  /** Ranges must come in the order of their accounts and streams. */
  async send(texts: readonly string[], last: ReplayedStream | undefined): Promise<void> {
    const values: string[] = [...this.from];
    const add = (value: string): string => `$${values.push(value)}`;
    const stream = `(t.account_id, t.${this.table.primaryKey[1]})`;
    const conditions = [`${stream} >= ($1, $2)`];
    if (last !== undefined) conditions.push(`${stream} <= (${add(last.accountId)}, ${add(last.id)})`);
    if (this.account !== undefined) conditions.push(`t.account_id = ${add(this.account)}`);
    await this.client.query(`truncate ${logTable(this.table)}`);
    await this.logRows.send(texts, last);
    await this.compare(joined(this.table, conditions.join(' and ')), values);
    // No text lies between an id and this one.
    if (last !== undefined) this.from = [last.accountId, `${last.id}\u0001`];
  }

  private async compare(both: string, values: readonly unknown[]): Promise<void> {
    const counts = `select count(*)::int as rows, (count(*) filter (where live is distinct from log))::int as different ${both}`;
    const { rows } = await this.client.query<{ rows: number; different: number }>(counts, [...values]);
    this.rows += rows[0]?.rows ?? 0;
    if (rows[0]?.different === 0) return;
    const fields = `select different.* ${both} cross join lateral (${differentFields(this.table)}) different`;
    for await (const differences of fetchRows<Difference>(this.client, fields, values)) {
      this.differences += differences.length;
      for (const { live, log, ...place } of differences) {
        this.onDifference({ ...place, live: shortened(live), log: shortened(log) });
      }
    }
  }
}

/** Its name must differ from the live table's, which it would hide. */
const logTable = ({ name }: Table<unknown>): string => `log_of_${name}`;

/**
 * Joins the live rows that meet the condition, `live`, with the log's rows of this range, `log`. `order by` makes PostgreSQL read the rows by the primary key.
 */
function joined(table: Table<unknown>, condition: string): string {
  const { name, columns, primaryKey } = table;
  const [list, key] = [columns.map((column) => `t.${column}`).join(', '), primaryKey.join(', ')];
  return `from (select ${list} from ${name} t where ${condition} order by ${key}) live
    full join (select ${list} from ${logTable(table)} t) log using (${key})`;
}

/** Selects the fields in which a live row and the log's row differ. */
function differentFields({ name, columns, primaryKey }: Table<unknown>): string {
  const [account = '', ...key] = primaryKey;
  const selectDifference = (field: string, [live, log]: readonly string[], condition: string): string =>
    `select '${name}' as table, ${account} as account, concat_ws(' ', ${key.join(', ')}) as key, '${field}' as field,
      ${live} as live, ${log} as log where ${condition}`;
  const isMissing = (side: string): string => `${side}.${account} is null`;
  const presence = ['live', 'log'].map((side) => `case when ${isMissing(side)} then 'not there' else 'there' end`);
  const row = selectDifference('(row)', presence, `${isMissing('live')} or ${isMissing('log')}`);
  const fields = columns.map((column) => {
    const printed = ['live', 'log'].map((side) => `coalesce(to_json(${side}.${column})::text, 'NULL')`);
    const isDifferent = `live.${column} is distinct from log.${column}`;
    return selectDifference(column, printed, `live.${account} = log.${account} and ${isDifferent}`);
  });
  return [row, ...fields].join(' union all ');
}

const shortened = (value: string): string =>
  value.length <= MAX_VALUE_CHARACTERS
    ? value
    : `${value.slice(0, MAX_VALUE_CHARACTERS)}… (${value.length} characters)`;
