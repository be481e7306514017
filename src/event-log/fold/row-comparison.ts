import type { Client } from 'pg';
import { fetchRows } from '../../database/index.js';
import type { ClaimChange } from '../claims/held-claims.js';
import { type AnyReadModel, type ClaimedColumn, claimValue, hiddenFieldsOf, type Table } from '../read-model.js';
import type { Scope } from './folded-chunks.js';

/** A field of a live row that differs from the log. If only one side has the row, the field is `(row)`. */
export interface Difference {
  readonly table: string;
  readonly account: string;
  /** The rest of the row's key, its parts separated by blanks. */
  readonly key: string;
  readonly field: string;
  /** JSON or NULL, shortened if it is long. It is `(hidden)` for a field that the API never shows. */
  readonly live: string;
  /** The value from the log, in the same form. */
  readonly log: string;
}

/** A difference and the id of its row's stream. The log may have no such stream. */
export interface FoundDifference extends Difference {
  readonly id: string;
}

/** The account and id of a stream, by which streams are ordered. */
export interface StreamPlace {
  readonly accountId: string;
  readonly id: string;
}

/**
 * Compares the live rows of one table with the rows that the log makes, one range of streams at a time, so memory holds
 * one range only. It sends the log's rows as a parameter, because a standby, or a role with SELECT only, cannot make a
 * temporary table.
 */
export class RowComparison {
  /** The end of the last range. */
  private after: StreamPlace | undefined;
  private readonly hidden: ReadonlySet<string>;
  private readonly both: string;
  /** The number of rows that have been compared. */
  rows = 0;
  /** What the claims of the log have more or less than those of the live rows. */
  readonly claims: ClaimChange[] = [];

  /** `client` is in a transaction, in which PostgreSQL reads the live rows. */
  constructor(
    private readonly client: Client,
    private readonly scope: Scope,
    model: AnyReadModel,
    readonly table: Table<object>,
  ) {
    this.hidden = hiddenFieldsOf(model);
    this.both = `(${logRows(table)}) log using (${table.primaryKey})`;
  }

  /**
   * Compares the next range, which ends with the stream `last`. The range ends with the table if `last` is undefined.
   */
  async *differencesUpTo(
    last: StreamPlace | undefined,
    log: readonly object[],
  ): AsyncGenerator<readonly FoundDifference[]> {
    const values = [JSON.stringify(log)];
    const both = `from (${this.liveRows(last, values)}) live full join ${this.both}`;
    this.after = last;
    const { rows } = await this.client.query<{ rows: number; different: number }>(`${COUNTS} ${both}`, values);
    this.rows += rows[0]?.rows ?? 0;
    if (rows[0]?.different === 0) return;
    if (this.table.claimed !== undefined) {
      const changes = await this.client.query<ClaimChange>(claimChanges(this.table.claimed, both), values);
      for (const change of changes.rows) this.claims.push(change);
    }
    const fields = `select different.* ${both} cross join lateral (${differentFields(this.table)}) different`;
    for await (const found of fetchRows<{ [K in keyof FoundDifference]: string }>(this.client, fields, values)) {
      yield found.map((one) => this.printed(one));
    }
  }

  /** SQL of the live rows of the range. Adds its parameters to `values`. */
  private liveRows(last: StreamPlace | undefined, values: unknown[]): string {
    const { account, id } = this.scope;
    const stream = streamColumn(this.table);
    const conditions = ['true'];
    // With `account_id =` too, PostgreSQL would read a range of two columns from the first row of the account on.
    const bound = (operator: string, place: StreamPlace): void => {
      const at = `$${values.push(place.id)}`;
      const isOfAll = account === undefined;
      conditions.push(
        isOfAll
          ? `(account_id, ${stream}) ${operator} ($${values.push(place.accountId)}, ${at})`
          : `${stream} ${operator} ${at}`,
      );
    };
    if (account !== undefined) conditions.push(`account_id = $${values.push(account)}`);
    if (id !== undefined) conditions.push(`${stream} = $${values.push(id)}`);
    if (this.after !== undefined) bound('>', this.after);
    if (last !== undefined) bound('<=', last);
    return `select ${this.table.columns} from ${this.table.name} where ${conditions.join(' and ')}`;
  }

  private printed({ live, log, ...place }: FoundDifference): FoundDifference {
    if (this.hidden.has(place.field)) return { ...place, live: '(hidden)', log: '(hidden)' };
    return { ...place, live: shortened(live), log: shortened(log) };
  }
}

/** The column with the id of a row's stream. */
export const streamColumn = ({ primaryKey }: Table<object>): string => primaryKey[1] ?? '';

/** SQL of the log's rows, which are JSON in $1. */
export const logRows = ({ name, columns }: Table<object>): string =>
  `select ${columns} from json_populate_recordset(null::${name}, $1::json)`;

const COUNTS = 'select count(*)::int as rows, (count(*) filter (where live is distinct from log))::int as different';

/** SQL that counts for each claim how many more rows the log has, or how many fewer. */
const claimChanges = ({ kind, column }: ClaimedColumn, both: string): string =>
  `select '${claimValue(kind, '')}' || value as value, account, sum(n)::int as change ${both} cross join lateral (
    values (live.account_id, live.${column}, -1), (log.account_id, log.${column}, 1)) c(account, value, n)
  where account is not null group by account, value having sum(n) <> 0`;

/** Selects the fields in which a live row and the log's row differ. */
function differentFields({ name, columns, primaryKey }: Table<object>): string {
  const [account = '', stream = ''] = primaryKey;
  const key = primaryKey.slice(1).join(', ');
  const selectDifference = (field: string, [live, log]: readonly string[], condition: string): string =>
    `select '${name}' as table, ${account} as account, ${stream} as id, concat_ws(' ', ${key}) as key, '${field}' as field,
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

/** SQL that prints a value as JSON, with times in the form of the API. */
const printedValue = (value: string): string => `case when ${value} is null then 'NULL'
  when pg_typeof(${value}) = 'timestamptz'::regtype then replace(to_json(${value})::text, '+00:00"', 'Z"')
  else to_json(${value})::text end`;

const MAX_VALUE_CHARACTERS = 60;

const shortened = (value: string): string =>
  value.length <= MAX_VALUE_CHARACTERS
    ? value
    : `${value.slice(0, MAX_VALUE_CHARACTERS)}… (${value.length} characters)`;
