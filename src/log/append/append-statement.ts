import { hash } from 'node:crypto';
import type { NamedStatement } from '../../database/query.js';
import type { Row, Table } from '../read-model.js';
import type { Append, StreamAppend } from './append.js';
import { newEventId } from './event-ids.js';

/** A row to write whole, or the key of a row to remove, as JSON. */
interface RowWrite {
  readonly table: Table<object>;
  readonly isRemoval: boolean;
  /** Of a new entity, whose id no row has. */
  readonly isNew: boolean;
  readonly text: string;
  /** Rows are sent in this order, which is the same in every process. */
  readonly order: string;
  /** The value of a new entity that no row of another account may have: see `claimedColumn`. */
  readonly claim?: string | undefined;
}

/** What an append says of an event, with the types that PostgreSQL makes of the texts. */
const EVENT_COLUMNS = {
  stream_id: 'text',
  stream_version: 'int',
  event_id: 'uuid',
  type: 'text',
  data: 'text',
  metadata: 'text',
  occurred_at: 'timestamptz',
  takes_rights: 'boolean',
} as const;
const EVENT_COLUMN_NAMES = Object.keys(EVENT_COLUMNS) as (keyof typeof EVENT_COLUMNS)[];
type EventTexts = Readonly<Record<keyof typeof EVENT_COLUMNS, string>>;
/**
 * A statement has one parameter for each column of its events. No text holds this control character, since JSON escapes it.
 * Events as one JSON parameter took twice as long here and a third longer in PostgreSQL.
 */
const SEPARATOR = '\u001f';

/** One command, ready to be sent. Its texts are made once, however often its batch is split or sent again. */
export interface PreparedAppend {
  readonly eventIds: readonly string[];
  /** JSON as stored with the last event. Its operation id tells this command from another one with the same event id. */
  readonly metadataText: string;
  readonly events: readonly EventTexts[];
  readonly rows: readonly RowWrite[];
  /** Streams written, and values taken or freed: no two commands of a batch may share one. */
  readonly keys: readonly string[];
  /** Streams of the principal and the API key that make the change. It is never in one batch after a change of them. */
  readonly mustNotFollow: readonly string[];
  readonly sizeBytes: number;
  /** The head must not have a later change of rights. */
  readonly rightsPosition: number;
  /** Time of performance.now() at which its caller is answered 503. */
  readonly deadline: number;
}

export function prepareAppend(append: Append, defaultDeadline: number): PreparedAppend {
  const { metadata, occurredAt, rightsPosition, streams, deadline = defaultDeadline } = append;
  const metadataText = JSON.stringify(metadata);
  const occurred_at = occurredAt.toISOString();
  const events = streams.flatMap(({ model, id, before, events, eventId, causedBy }) =>
    events.map(({ type, data }, n) => ({
      stream_id: id,
      stream_version: String((before?.version ?? 0) + n + 1),
      event_id: (n === 0 ? eventId : undefined) ?? newEventId(),
      type,
      data: JSON.stringify(data),
      metadata: causedBy === undefined ? metadataText : withCause(metadataText, causedBy),
      occurred_at,
      takes_rights: String(model.events[type]?.takesRights === true),
    })),
  );
  const keys = new Set(streams.map(({ id }) => id));
  const rows = streams.flatMap((stream) => stream.model.tables.flatMap((table) => rowWrites(table, stream, keys)));
  const eventsBytes = events.reduce((sum, { data, metadata }) => sum + data.length + metadata.length, 0);
  return {
    eventIds: events.map((event) => event.event_id),
    metadataText: events.at(-1)?.metadata ?? metadataText,
    events,
    rows,
    keys: [...keys],
    mustNotFollow: [metadata.actor, metadata.api_key_id ?? ''],
    sizeBytes: rows.reduce((sum, { text }) => sum + text.length, eventsBytes),
    rightsPosition: rightsPosition ?? Number.MAX_SAFE_INTEGER,
    deadline,
  };
}

/** Metadata always has fields, and is made text once: an append may cause the removal of hundreds of entities. */
const withCause = (metadataText: string, causedBy: string): string =>
  `${metadataText.slice(0, -1)},"causation_id":"${causedBy}"}`;

/** Rows that stay the same are not written again: an edge may list a thousand hostports and change its description. */
function rowWrites(table: Table<object>, { before, after }: StreamAppend, keys: Set<string>): RowWrite[] {
  const old = before === undefined ? [] : table.rowsOf(before);
  const rows = after === undefined ? [] : table.rowsOf(after);
  for (const row of [...old, ...rows]) for (const value of table.exclusiveValuesOf(row as Row)) keys.add(value);
  const put = rows.map((row) => {
    const [value] = table.exclusiveValuesOf(row as Row);
    const order = value === undefined ? keyOf(table, row) : `${table.name} ${value}`;
    const isNew = before === undefined;
    const claim = isNew ? claimOf(table, row) : undefined;
    return { table, isRemoval: false, isNew, text: JSON.stringify(row), order, claim };
  });
  if (old.length === 0) return put;
  const unchanged = new Set(old.map((row) => JSON.stringify(row)));
  const kept = new Set(rows.map((row) => keyOf(table, row)));
  const gone = old.filter((row) => !kept.has(keyOf(table, row)));
  // A removal needs the key columns only, and a row may hold a public key of 16 KiB.
  const textOf = (row: object): string => JSON.stringify(row, [...table.primaryKey]);
  const removals = gone.map((row) => {
    return { table, isRemoval: true, isNew: false, text: textOf(row), order: keyOf(table, row) };
  });
  return [...removals, ...put.filter(({ text }) => !unchanged.has(text))];
}

function claimOf({ claimedColumn }: Table<object>, row: object): string | undefined {
  const value = claimedColumn === undefined ? undefined : (row as Row)[claimedColumn];
  return typeof value === 'string' ? value : undefined;
}

const keyOf = ({ name, primaryKey }: Table<object>, row: object): string =>
  primaryKey.reduce((key, column) => `${key} ${(row as Row)[column]}`, name);

/**
 * What the statement returns: one row with `base`, the size of the log before it, if it wrote the batch; else a row for each
 * claim that it refuses; none if rights were taken after one of the commands was decided.
 */
export interface AppendRow {
  readonly base: string | null;
  /** Only in the rows of a statement with claims. */
  readonly refused?: string | null;
}

export interface AppendStatement extends NamedStatement {
  readonly values: readonly string[];
  /** The oldest rights under which one of its commands was decided. */
  readonly rightsPosition: number;
}

/**
 * The statement that appends a batch of one account's commands: events, head and read-model rows in one implicit
 * transaction, so that no client round trip happens while the head row is locked.
 * It names only the tables that the batch touches, which gives one prepared text for each combination of tables and of what
 * happens to their rows.
 */
export function appendStatement(accountId: string, batch: readonly PreparedAppend[]): AppendStatement {
  const events = batch.flatMap((append) => append.events);
  const rightsPosition = Math.min(...batch.map((append) => append.rightsPosition));
  const columns = EVENT_COLUMN_NAMES.map((name) => events.map((event) => event[name]).join(SEPARATOR));
  const values = [accountId, String(rightsPosition), ...columns];
  const parts: string[] = [];
  const refusals: string[] = [];
  const rows = batch.flatMap((append) => append.rows).sort(byOrder);
  for (const table of new Set(rows.map((row) => row.table))) {
    const ofTable = rows.filter((row) => row.table === table);
    const claims = new Set(ofTable.flatMap(({ claim }) => claim ?? []));
    if (claims.size > 0) refusals.push(refusedClaims(table, values.push(JSON.stringify([...claims]))));
    const [removed = [], put = []] = [true, false].map((isRemoval) =>
      ofTable.filter((row) => row.isRemoval === isRemoval),
    );
    if (removed.length > 0) parts.push(removePart(table, values.push(jsonList(removed))));
    if (put.length > 0) parts.push(putPart(table, values.push(jsonList(put)), ofTable));
  }
  const head = refusals.length === 0 ? headPart('') : `${refusedPart(refusals)},\n${headPart(UNLESS_REFUSED)}`;
  const answer = refusals.length === 0 ? BASE : BASE_OR_REFUSED;
  const text = `with ${[BATCH, head, RECORDED, ...parts].join(',\n')}\n${answer}`;
  return { name: `append_${hash('sha256', text).slice(0, 16)}`, text, values, rightsPosition };
}

/** Whether the statement refused a claim of this append. */
export const hasRefusedClaim = ({ rows }: PreparedAppend, refused: ReadonlySet<string>): boolean =>
  rows.some(({ table, claim }) => claim !== undefined && refused.has(`${table.name} ${claim}`));

const byOrder = (a: RowWrite, b: RowWrite): number => (a.order < b.order ? -1 : a.order > b.order ? 1 : 0);

const jsonList = (rows: readonly RowWrite[]): string => `[${rows.map(({ text }) => text).join(',')}]`;

const BATCH = `batch as materialized (
  select ${EVENT_COLUMN_NAMES.map((name) => `${name}::${EVENT_COLUMNS[name]}`).join(', ')}, ordinality
  from unnest(${EVENT_COLUMN_NAMES.map((_, n) => `string_to_array($${n + 3}, '${SEPARATOR}')`).join(', ')}) with ordinality
    as events(${EVENT_COLUMN_NAMES.join(', ')}, ordinality))`;

const refusedPart = (refusals: readonly string[]): string =>
  `refused as materialized (${refusals.join('\n  union all ')})`;

/** At most one row for each claim: the other account may have thousands of rows with the value. */
function refusedClaims({ name, primaryKey: [, id], claimedColumn }: Table<object>, parameter: number): string {
  return `select '${name} ' || claim as claim
    from json_array_elements_text($${parameter}::json) as claim
    cross join lateral (select from ${name} t
      where t.${claimedColumn} = claim and t.account_id <> $1 and by_index(t.${id}) limit 1) as other`;
}

const UNLESS_REFUSED = ' having not exists (select from refused)';
const BASE = 'select base::text as base from head';
const BASE_OR_REFUSED =
  'select base::text as base, null as refused from head union all select null, claim from refused';

// The head comes before all that is written: its row lock puts the appends of an account in order, in every process.
// recorded_at strictly increases in an account, one microsecond per event, even when the clock steps back.
// A statement that waited for the lock sees the newest head in DO UPDATE only: elsewhere its snapshot is older.
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
  const [, id, ...rest] = primaryKey;
  // Only for more columns than the id: a join compares each row of the table with each of the JSON, 10,000 with 10,000.
  const matches = [id, ...rest].map((column) => ` and t.${column} = r.${column}`).join('');
  const [using, joined] = rest.length === 0 ? ['head', ''] : [`head, ${rows} r`, matches];
  // PostgreSQL expects a hundred rows of the JSON but ten of an array, and scans a small table for a hundred rows.
  return `${name}_removed as (
  delete from ${name} t using ${using} where t.account_id = $1${joined}
    and t.${id} = any(array(select ${id} from ${rows})) and by_index(t.${id}) returning 1)`;
}

// Every part selects from head, and insertions depend on the deletions: PostgreSQL would choose another order.
function putPart(table: Table<object>, parameter: number, ofTable: readonly RowWrite[]): string {
  const { name, columns } = table;
  const value = (column: string): string => (column === 'account_id' ? '$1' : `r.${column}`);
  const afterRemoval = ofTable.some(({ isRemoval }) => isRemoval);
  return `${name}_stored as (
  insert into ${name} (${columns.join(', ')})
  select ${columns.map(value).join(', ')} from head, json_populate_recordset(null::${name}, $${parameter}::json) r
  ${afterRemoval ? `where (select count(*) from ${name}_removed) >= 0` : ''}
  ${ofTable.every(({ isNew }) => isNew) ? '' : replacing(table)})`;
}

/**
 * The clause for rows that may exist. New rows do without it: to look for a row of the same key takes about a twentieth of
 * PostgreSQL's time for a create.
 */
function replacing({ columns, primaryKey }: Table<object>): string {
  const rest = columns.filter((column) => !primaryKey.includes(column));
  const set = rest.map((column) => `${column} = excluded.${column}`).join(', ');
  return `on conflict (${primaryKey.join(', ')}) ${set === '' ? 'do nothing' : `do update set ${set}`}`;
}
