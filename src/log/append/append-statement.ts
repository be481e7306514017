import { createHash } from 'node:crypto';
import type { NewEvent } from '../event.js';
import type { Table } from '../read-model.js';
import { keyText, sendingOrder, type TableChange } from './table-change.js';

/** A row as JSON, with its place in the order of sending. */
interface RowText {
  readonly order: string;
  readonly text: string;
}

/** What a command does to one table, as texts. */
interface PreparedChange {
  readonly table: Table<never>;
  readonly put: readonly RowText[];
  readonly remove: readonly RowText[];
}

/** One command's effect, ready to be sent: texts are made once, however often a batch is split or repeated. */
export interface PreparedAppend {
  readonly eventIds: readonly string[];
  /** JSON as it is stored. Its operation id tells this command from another one with the same event id. */
  readonly metadataText: string;
  /** Each event as a JSON object in the form the statement's `batch` reads. */
  readonly eventTexts: readonly string[];
  readonly changes: readonly PreparedChange[];
  /** Streams written and values taken or freed: no two commands in one batch may share one. */
  readonly keys: readonly string[];
  /** Characters of all its texts, which is what waiting for its batch costs. */
  readonly sizeBytes: number;
}

export interface AppendStatement {
  readonly name: string;
  readonly text: string;
  readonly values: readonly string[];
}

export function prepareAppend(events: readonly NewEvent[], changes: readonly TableChange[]): PreparedAppend {
  const eventTexts = events.map(eventText);
  const prepared = changes.map(prepareChange);
  const texts = [...eventTexts, ...prepared.flatMap(({ put, remove }) => [...put, ...remove].map(({ text }) => text))];
  return {
    eventIds: events.map((e) => e.eventId),
    metadataText: JSON.stringify(events.at(-1)?.metadata),
    eventTexts,
    changes: prepared,
    keys: [...new Set([...events.map((e) => e.streamId), ...changes.flatMap((c) => c.exclusiveValues)])],
    sizeBytes: texts.reduce((sum, text) => sum + text.length, 0),
  };
}

const prepareChange = ({ table, put, remove }: TableChange): PreparedChange => ({
  table,
  put: put.map((row) => ({ order: sendingOrder(table, row), text: JSON.stringify(row) })),
  remove: remove.map((row) => ({ order: keyText(table, row), text: JSON.stringify(row) })),
});

const eventText = (e: NewEvent): string =>
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
      values.push(jsonList(remove));
      parts.push(removePart(table, values.length));
    }
    if (put.length > 0) {
      values.push(jsonList(put));
      parts.push(putPart(table, values.length, remove.length > 0));
    }
  }
  const text = [APPEND_EVENTS, ...parts].join(',\n') + RESULT;
  return { name: statementName(text), text, values };
}

/** Merges what the commands of a batch do to each table; tables are in the order of their names in every process. */
function tableWrites(batch: readonly PreparedAppend[]): PreparedChange[] {
  const tables = new Map<string, PreparedChange[]>();
  for (const change of batch.flatMap((a) => a.changes)) {
    const changes = tables.get(change.table.name);
    if (changes === undefined) tables.set(change.table.name, [change]);
    else changes.push(change);
  }
  return [...tables.keys()].sort().flatMap((name) => {
    const changes = tables.get(name) ?? [];
    const table = changes[0]?.table;
    if (table === undefined) return [];
    return [{ table, put: inOrder(changes.flatMap((c) => c.put)), remove: inOrder(changes.flatMap((c) => c.remove)) }];
  });
}

const inOrder = (rows: RowText[]): RowText[] => rows.sort(({ order: a }, { order: b }) => (a < b ? -1 : a > b ? 1 : 0));

const jsonList = (rows: readonly RowText[]): string => `[${rows.map(({ text }) => text).join(',')}]`;

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
