import { hash } from 'node:crypto';
import type { NamedStatement } from '../../database/index.js';
import type { Table } from '../read-model.js';
import { EVENT_COLUMNS, type PreparedAppend, type RowWrite, sumOfClaims } from './prepared-append.js';

const EVENT_COLUMN_NAMES = Object.keys(EVENT_COLUMNS) as (keyof typeof EVENT_COLUMNS)[];

/**
 * A row that the statement returns. If it wrote the batch, there is one row, and `base` is the size of the log before.
 * If it refused claims, there is a row for each of them, and if rights were taken after a decision, there is none.
 */
export interface AppendRow {
  readonly base: string | null;
  /** Absent if the statement has no claims. */
  readonly refused?: string | null;
}

export interface AppendStatement extends NamedStatement {
  readonly values: readonly (string | readonly string[])[];
  /** The oldest rights under which one of its commands was decided. */
  readonly rightsPosition: number;
}

/**
 * The statement that appends a batch of one account's commands. One statement writes events, head and rows of read
 * models, so that the head is locked no longer than that statement runs. It names only the tables that the batch
 * changes, so there is one prepared statement for each combination of tables and changes.
 */
export function appendStatement(accountId: string, batch: readonly PreparedAppend[]): AppendStatement {
  const events = batch.flatMap((append) => append.events);
  const rightsPosition = Math.min(...batch.map((append) => append.rightsPosition));
  const columns = EVENT_COLUMN_NAMES.map((name) => events.map((event) => event[name]));
  const values: (string | string[])[] = [accountId, String(rightsPosition), ...columns];
  /** Adds a value, and returns the number of its parameter. */
  const parameter = (value: string): number => values.push(value);
  const parts = [BATCH];
  const claims = claimsOf(batch);
  if (claims.length > 0) {
    const changes = parameter(JSON.stringify(claims));
    parts.push(takenPart(changes), REFUSED, headPart(UNLESS_REFUSED), RECORDED, claimsPart(changes));
  } else parts.push(headPart(''), RECORDED);
  const rows = batch.flatMap((append) => append.rows).sort(byOrder);
  for (const table of new Set(rows.map((row) => row.table))) {
    const ofTable = rows.filter((row) => row.table === table);
    const [removed = [], put = []] = [true, false].map((isRemoval) =>
      ofTable.filter((row) => row.isRemoval === isRemoval),
    );
    if (removed.length > 0) parts.push(removePart(table, parameter(jsonList(removed))));
    const maximum = put.find((row) => row.maximum !== undefined)?.maximum;
    const limit = maximum === undefined ? '' : maximumPart(table, parameter(String(maximum)));
    if (put.length > 0) parts.push(putPart(table, parameter(jsonList(put)), ofTable, limit));
  }
  const text = `with ${parts.join(',\n')}\n${claims.length > 0 ? BASE_OR_REFUSED : BASE}`;
  return { name: `append_${hash('sha256', text).slice(0, 16)}`, text, values, rightsPosition };
}

/** Whether the statement refused a claim of this append. */
export const hasRefusedClaim = ({ claims }: PreparedAppend, refused: ReadonlySet<string>): boolean =>
  [...refused].some((value) => (claims.get(value) ?? 0) > 0);

/** The changes of claims, sorted by value. Two accounts that claim the same values in opposite order would deadlock. */
function claimsOf(batch: readonly PreparedAppend[]): { readonly value: string; readonly change: number }[] {
  const sums = sumOfClaims(batch.flatMap(({ claims }) => [...claims]));
  return [...sums].map(([value, change]) => ({ value, change })).sort((a, b) => (a.value < b.value ? -1 : 1));
}

const byOrder = (a: RowWrite, b: RowWrite): number => (a.order < b.order ? -1 : a.order > b.order ? 1 : 0);

const jsonList = (rows: readonly RowWrite[]): string => `[${rows.map(({ text }) => text).join(',')}]`;

/** A parameter for each column of the events. */
const BATCH = `batch as materialized (
  select * from unnest(${EVENT_COLUMN_NAMES.map((name, n) => `$${n + 3}::${EVENT_COLUMNS[name]}[]`).join(', ')})
    with ordinality as events(${EVENT_COLUMN_NAMES.join(', ')}, ordinality))`;

const changesOf = (parameter: number): string => `json_to_recordset($${parameter}::json) as r(value text, change int)`;

/** Claims that other accounts have committed before. The unique index decides about claims in running transactions. */
const takenPart = (parameter: number): string => `taken as materialized (
  select other.value from ${changesOf(parameter)} cross join lateral (select c.value from claims c
    where c.value = r.value and c.account_id <> $1 limit 1) as other where r.change > 0)`;

/** What an account has reserved it gets all the same: no other account takes it by claiming it before. */
const REFUSED = `refused as materialized (
  select value from taken where not has_reserved($1, value))`;

/** A trigger removes a claim when no row has its value any more. */
const claimsPart = (parameter: number): string => `claimed as (
  insert into claims as c (value, account_id, holders, exclusive)
  select r.value, $1, r.change, r.change > 0 and r.value not in (select value from taken) from head, ${changesOf(parameter)}
  on conflict (value, account_id) do update set holders = c.holders + excluded.holders)`;

/** The index that decides which of two accounts gets a value that both claim at once. */
export const CLAIMS_CONSTRAINT = 'claims_exclusive';

const UNLESS_REFUSED = ' having not exists (select from refused)';
const BASE = 'select base::text as base from head';
const BASE_OR_REFUSED =
  'select base::text as base, null as refused from head union all select null, value from refused';

// The head is written first, because its row lock orders the appends of an account over all processes.
// recorded_at strictly increases in an account, one microsecond per event, even when the clock steps back.
// A statement that waited for the lock sees the newest head only in DO UPDATE, because its snapshot is older.
const headPart = (having: string): string => `head as (
  insert into log_heads as old (account_id, size, recorded_at, rights_position)
  select $1, count(*), clock_timestamp() + (count(*) - 1) * interval '1 microsecond',
    coalesce(max(ordinality) filter (where takes_rights), 0) from batch${having}
  on conflict (account_id) do update set size = old.size + excluded.size,
    recorded_at = greatest(clock_timestamp(), old.recorded_at + interval '1 microsecond')
      + (excluded.size - 1) * interval '1 microsecond',
    rights_position = coalesce(old.size + nullif(excluded.rights_position, 0), old.rights_position)
  where old.rights_position <= $2::bigint
  returning size - (select count(*) from batch) as base,
    recorded_at - (select count(*) from batch) * interval '1 microsecond' as at)`;

const RECORDED = `placed as (
  select $1 as account_id, head.base + ordinality as position, stream_id, stream_version, event_id, type, data, metadata,
    occurred_at, head.at + ordinality * interval '1 microsecond' as recorded_at from head, batch),
recorded as (
  insert into events (account_id, position, stream_id, stream_version, event_id, type, data, metadata, occurred_at, recorded_at, leaf_hash)
  select placed.*,
    event_leaf_hash(account_id, position, stream_id, stream_version, event_id, type, data, metadata, occurred_at, recorded_at)
  from placed)`;

function removePart({ name, primaryKey }: Table<object>, parameter: number): string {
  const rows = `json_populate_recordset(null::${name}, $${parameter}::json)`;
  const columns = primaryKey.map((column) => `array(select ${column === 'account_id' ? '$1' : column} from ${rows})`);
  const matches = primaryKey.map((column) => `t.${column} = gone.${column}`);
  // For arrays PostgreSQL expects ten rows, and looks up each by its key. For the JSON it expects a hundred rows, and
  // may read all rows of the account.
  return `${name}_removed as (
  delete from ${name} t using head, unnest(${columns.join(', ')}) as gone(${primaryKey.join(', ')})
    where ${matches.join(' and ')} returning 1)`;
}

/** Tells the trigger that counts the rows of a table what their maximum is. It holds for this statement. */
const maximumPart = ({ name }: Table<object>, parameter: number): string =>
  `, set_config('tunnel_access.max_${name}', $${parameter}, true)`;

// Every part selects from head, and insertions depend on the deletions. Otherwise PostgreSQL might choose another
// order.
function putPart(table: Table<object>, parameter: number, ofTable: readonly RowWrite[], limit: string): string {
  const { name, columns } = table;
  const value = (column: string): string => (column === 'account_id' ? '$1' : `r.${column}`);
  const clauses = [
    ...(ofTable.some(({ isRemoval }) => isRemoval) ? [`where (select count(*) from ${name}_removed) >= 0`] : []),
    ...(ofTable.every(({ isNew }) => isNew) ? [] : [replacing(table)]),
  ];
  return `${name}_stored as (
  insert into ${name} (${columns.join(', ')})
  select ${columns.map(value).join(', ')} from head, json_populate_recordset(null::${name}, $${parameter}::json) r${limit}${clauses.map((clause) => `\n  ${clause}`).join('')})`;
}

/** The clause for rows that may exist. A row of a new entity lacks it, because it must never replace another row. */
function replacing({ columns, primaryKey }: Table<object>): string {
  const rest = columns.filter((column) => !primaryKey.includes(column));
  const set = rest.map((column) => `${column} = excluded.${column}`).join(', ');
  return `on conflict (${primaryKey.join(', ')}) ${set === '' ? 'do nothing' : `do update set ${set}`}`;
}
