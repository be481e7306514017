import type { Client } from 'pg';
import { to } from 'pg-copy-streams';
import { sqlLiteral } from '../../database/copy/sql-literal.js';
import { fetchRows } from '../../database/cursor.js';
import type { Table } from '../read-model.js';
import { decodeColumns, encodeRows, type Field, fieldsOf } from '../replay/copy-rows.js';
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
 * Compares the live rows of a table with the rows that the log makes, one range of streams after another, so memory holds
 * the rows of one range. If the texts of a range differ, PostgreSQL compares the values and names the differences; it gets
 * the log's rows as parameters, since a standby, and a role with SELECT only, can make no temporary table.
 */
export class TableDiff implements RowTarget {
  rows = 0;
  differences = 0;
  /** Account and stream with which the next range begins. */
  private from: readonly [account: string, id: string];

  private constructor(
    private readonly client: Client,
    readonly table: Table<unknown>,
    private readonly fields: readonly Field[],
    private readonly account: string | undefined,
    private readonly onDifference: (difference: Difference) => void,
  ) {
    this.from = [account ?? '', ''];
  }

  /** `client`: in a transaction, of which PostgreSQL reads the live rows. */
  static async of(
    client: Client,
    table: Table<unknown>,
    account: string | undefined,
    onDifference: (difference: Difference) => void,
  ): Promise<TableDiff> {
    return new TableDiff(client, table, await fieldsOf(client, table), account, onDifference);
  }

  encode(rows: readonly object[]): string {
    return encodeRows(this.fields, rows);
  }

  /** Ranges must come in the order of their accounts and streams. */
  async send(texts: readonly string[], last: ReplayedStream | undefined): Promise<void> {
    const live = liveRows(this.table, this.rangeUpTo(last));
    // No text lies between an id and this one.
    if (last !== undefined) this.from = [last.accountId, `${last.id}\u0001`];
    const log = texts.join('');
    if (await this.isSameText(live, Buffer.from(log))) return;
    const both = `from (${live}) live full join (${logRows(this.fields)}) log using (${this.table.primaryKey})`;
    await this.compare(both, decodeColumns(this.fields, log));
  }

  private rangeUpTo(last: ReplayedStream | undefined): string {
    const conditions = [this.comparison('>=', this.from)];
    if (last !== undefined) conditions.push(this.comparison('<=', [last.accountId, last.id]));
    if (this.account !== undefined) conditions.push(`account_id = ${sqlLiteral(this.account)}`);
    return conditions.join(' and ');
  }

  /**
   * SQL that compares a row's account and stream with these. Of one account it compares the stream alone: if there is also
   * an `account_id =`, PostgreSQL does not begin to read where a comparison of both says, but at the first row of the account.
   */
  private comparison(operator: '>=' | '<=', [account, id]: readonly [account: string, id: string]): string {
    const stream = this.table.primaryKey[1];
    if (this.account !== undefined) return `${stream} ${operator} ${sqlLiteral(id)}`;
    return `(account_id, ${stream}) ${operator} (${sqlLiteral(account)}, ${sqlLiteral(id)})`;
  }

  /** Counts the rows if they are the same. */
  private async isSameText(live: string, log: Buffer): Promise<boolean> {
    const copy = this.client.query(to(`copy (${live}) to stdout`));
    let [isSame, at] = [true, 0];
    for await (const chunk of copy as AsyncIterable<Buffer>) {
      isSame &&= chunk.equals(log.subarray(at, at + chunk.length));
      at += chunk.length;
    }
    if (!isSame || at < log.length) return false;
    this.rows += copy.rowCount;
    return true;
  }

  private async compare(both: string, log: readonly unknown[]): Promise<void> {
    const counts = `select count(*)::int as rows, (count(*) filter (where live is distinct from log))::int as different ${both}`;
    const { rows } = await this.client.query<{ rows: number; different: number }>(counts, [...log]);
    this.rows += rows[0]?.rows ?? 0;
    if (rows[0]?.different === 0) return;
    const fields = `select different.* ${both} cross join lateral (${differentFields(this.table)}) different`;
    for await (const differences of fetchRows<Difference>(this.client, fields, log)) {
      this.differences += differences.length;
      for (const { live, log, ...place } of differences) {
        this.onDifference({ ...place, live: shortened(live), log: shortened(log) });
      }
    }
  }
}

/** Selects the log's rows, of which each parameter holds one column as texts. */
const logRows = (fields: readonly Field[]): string => {
  const parameters = fields.map((_, n) => `$${n + 1}::text[]`);
  const values = fields.map(({ name, cast }, n) => `t${n}${cast} as ${name}`);
  return `select ${values} from unnest(${parameters}) as texts(${fields.map((_, n) => `t${n}`)})`;
};

/** `order by` makes PostgreSQL read the rows by the primary key. */
const liveRows = ({ name, columns, primaryKey }: Table<unknown>, condition: string): string =>
  `select ${columns} from ${name} where ${condition} order by ${primaryKey}`;

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
    const printed = ['live', 'log'].map((side) => printedValue(`${side}.${column}`));
    const isDifferent = `live.${column} is distinct from log.${column}`;
    return selectDifference(column, printed, `live.${account} = log.${account} and ${isDifferent}`);
  });
  return [row, ...fields].join(' union all ');
}

/** As JSON, with times as the API has them. */
const printedValue = (value: string): string => `case when ${value} is null then 'NULL'
  when pg_typeof(${value}) = 'timestamptz'::regtype then replace(to_json(${value})::text, '+00:00"', 'Z"')
  else to_json(${value})::text end`;

const shortened = (value: string): string =>
  value.length <= MAX_VALUE_CHARACTERS
    ? value
    : `${value.slice(0, MAX_VALUE_CHARACTERS)}… (${value.length} characters)`;
