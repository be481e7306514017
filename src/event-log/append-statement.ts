import { createHash } from 'node:crypto';
import type { NewEvent } from './event.js';
import type { Row, Table } from './read-model.js';
import { sendingOrder, type TableChange } from './table-change.js';

/** One command's effect, ready to be sent: texts are made once, however often a batch is split or repeated. */
export interface PreparedAppend {
  readonly eventIds: readonly string[];
  /** Each event as a JSON object in the form the statement's `batch` reads. */
  readonly eventTexts: readonly string[];
  readonly changes: readonly TableChange[];
  /** Streams written and values taken or freed: no two commands in one batch may share one. */
  readonly keys: readonly string[];
  readonly sizeBytes: number;
}

export interface AppendStatement {
  readonly name: string;
  readonly text: string;
  readonly values: readonly string[];
}

/** The rows of a batch for one table, in sending order. */
interface TableWrite {
  readonly table: Table<never>;
  readonly put: readonly Row[];
  readonly remove: readonly Row[];
}

export const eventText = (e: NewEvent): string =>
  JSON.stringify({
    s: e.streamId,
    v: e.streamVersion,
    e: e.eventId,
    t: e.event.type,
    d: JSON.stringify(e.event.data),
    m: JSON.stringify(e.metadata),
    o: e.occurredAt.toISOString(),
  });

/**
 * The statement that appends a batch of one account's commands: events, head and read-model rows in one implicit
 * transaction, so that no client round trip happens while the head row is locked.
 * Only the tables that the batch touches are named, which gives one prepared text per combination.
 */
export function appendStatement(accountId: string, batch: readonly PreparedAppend[]): AppendStatement {
  const writes = tableWrites(batch);
  const values = [accountId, `[${batch.flatMap((a) => a.eventTexts).join(',')}]`];
  const parts: string[] = [];
  for (const { table, put, remove } of writes) {
    if (remove.length > 0) {
      values.push(JSON.stringify(remove));
      parts.push(removePart(table, values.length));
    }
    if (put.length > 0) {
      values.push(JSON.stringify(put));
      parts.push(putPart(table, values.length, remove.length > 0));
    }
  }
  const text = [APPEND_EVENTS, ...parts].join(',\n') + RESULT;
  return { name: statementName(text), text, values };
}

/** Merges what the commands of a batch do to each table; tables are in the order of their names in every process. */
function tableWrites(batch: readonly PreparedAppend[]): TableWrite[] {
  const tables = new Map<string, TableChange[]>();
  for (const change of batch.flatMap((a) => a.changes)) {
    if (change.put.length === 0 && change.remove.length === 0) continue;
    const changes = tables.get(change.table.name);
    if (changes === undefined) tables.set(change.table.name, [change]);
    else changes.push(change);
  }
  return [...tables.keys()].sort().flatMap((name) => {
    const changes = tables.get(name) ?? [];
    const table = changes[0]?.table;
    if (table === undefined) return [];
    const inOrder = (rows: Row[]): Row[] => sortBy(rows, (row) => sendingOrder(table, row));
    return [{ table, put: inOrder(changes.flatMap((c) => c.put)), remove: inOrder(changes.flatMap((c) => c.remove)) }];
  });
}

function sortBy(rows: Row[], keyOf: (row: Row) => string): Row[] {
  const keyed = rows.map((row) => [keyOf(row), row] as const);
  keyed.sort(([a], [b]) => (a < b ? -1 : a > b ? 1 : 0));
  return keyed.map(([, row]) => row);
}

const names = new Map<string, string>();

function statementName(text: string): string {
  const known = names.get(text);
  if (known !== undefined) return known;
  const name = `append_${createHash('sha256').update(text).digest('hex').slice(0, 16)}`;
  names.set(text, name);
  return name;
}

// The head is taken before anything else: it serialises the account's appends, in this process and in every other.
// recorded_at is strictly increasing in an account, one microsecond per event, even when the clock steps back.
const APPEND_EVENTS = `with batch as materialized (
  select * from rows from (json_to_recordset($2::json)
    as (s text, v int, e uuid, t text, d text, m text, o timestamptz)) with ordinality
    as b(stream_id, stream_version, event_id, type, data, metadata, occurred_at, n)),
head as (
  insert into log_heads as h (account_id, size, recorded_at)
  select $1, count(*), clock_timestamp() + (count(*) - 1) * interval '1 microsecond' from batch
  on conflict (account_id) do update set size = h.size + excluded.size,
    recorded_at = greatest(clock_timestamp(), h.recorded_at + interval '1 microsecond')
      + (excluded.size - 1) * interval '1 microsecond'
  returning size - (select count(*) from batch) as base,
    recorded_at - (select count(*) from batch) * interval '1 microsecond' as at),
recorded as (
  insert into events (account_id, position, stream_id, stream_version, event_id, type, data, metadata, occurred_at, recorded_at, leaf_hash)
  select $1, head.base + b.n, b.stream_id, b.stream_version, b.event_id, b.type, b.data, b.metadata, b.occurred_at,
    head.at + b.n * interval '1 microsecond',
    event_leaf_hash($1, head.base + b.n, b.stream_id, b.stream_version, b.event_id, b.type, b.data, b.metadata, b.occurred_at, head.at + b.n * interval '1 microsecond')
  from head, batch b)`;

const RESULT = '\nselect base::text as base from head';

function removePart({ name, primaryKey }: Table<never>, parameter: number): string {
  const matches = primaryKey.map((column) => `t.${column} = r.${column}`).join(' and ');
  return `${name}_removed as (
  delete from ${name} t using head, json_populate_recordset(null::${name}, $${parameter}::json) r where ${matches} returning 1)`;
}

// Every part selects from head, and insertions depend on the deletions, else PostgreSQL picks the order.
function putPart({ name, columns, primaryKey }: Table<never>, parameter: number, afterRemoval: boolean): string {
  const rest = columns.filter((column) => !primaryKey.includes(column));
  const set = rest.map((column) => `${column} = excluded.${column}`).join(', ');
  const onConflict = rest.length > 0 ? `do update set ${set}` : 'do nothing';
  const order = afterRemoval ? ` where (select count(*) from ${name}_removed) >= 0` : '';
  return `${name}_stored as (
  insert into ${name} (${columns.join(', ')})
  select ${columns.map((column) => `r.${column}`).join(', ')} from head, json_populate_recordset(null::${name}, $${parameter}::json) r${order}
  on conflict (${primaryKey.join(', ')}) ${onConflict})`;
}
