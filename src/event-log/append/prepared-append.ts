import { claimValue, type Row, type Table } from '../read-model.js';
import type { Append, StreamAppend } from './append.js';
import { newEventId } from './event-ids.js';

/** A row to write whole, or the key of a row to remove, as JSON. */
export interface RowWrite {
  readonly table: Table<object>;
  readonly isRemoval: boolean;
  /** Of a new entity, whose id no row has. */
  readonly isNew: boolean;
  readonly text: string;
  /** Rows are sent in this order, which is the same in every process. */
  readonly order: string;
}

/** What an append says of an event, with the types that PostgreSQL makes of the texts. */
export const EVENT_COLUMNS = {
  stream_id: 'text',
  stream_version: 'int',
  event_id: 'uuid',
  type: 'text',
  data: 'text',
  metadata: 'text',
  occurred_at: 'timestamptz',
  takes_rights: 'boolean',
} as const;
type EventTexts = Readonly<Record<keyof typeof EVENT_COLUMNS, string>>;

/** One command, ready to be sent. Its texts are made once, however often its batch is split or sent again. */
export interface PreparedAppend {
  readonly eventIds: readonly string[];
  /** JSON as stored with the last event. Its operation id tells this command from another one with the same event id. */
  readonly metadataText: string;
  readonly events: readonly EventTexts[];
  readonly rows: readonly RowWrite[];
  /** For each claimed value, how many more rows of the account have it than before. Negative: how many fewer. */
  readonly claims: ReadonlyMap<string, number>;
  /** Streams written, and values taken or freed: no two commands of a batch may share one. */
  readonly keys: readonly string[];
  /** Streams of the principal and the API key that make the change. No earlier command of its batch changes one. */
  readonly mustNotFollow: readonly string[];
  readonly sizeBytes: number;
  /** The head must not have a later change of rights. */
  readonly rightsPosition: number;
  /** Time of performance.now() at which its caller is answered 503. */
  readonly deadline: number;
}

export function prepareAppend(append: Append, defaultDeadline: number): PreparedAppend {
  const { metadata, occurredAt, rightsPosition, streams, deadline = defaultDeadline } = append;
  const occurred_at = occurredAt.toISOString();
  const events = streams.flatMap(({ model, id, before, events, eventId, causedBy }) =>
    events.map(({ type, data }, n) => ({
      stream_id: id,
      stream_version: String((before?.version ?? 0) + n + 1),
      event_id: (n === 0 ? eventId : undefined) ?? newEventId(),
      type,
      data: JSON.stringify(data),
      metadata: JSON.stringify(causedBy === undefined ? metadata : { ...metadata, causation_id: causedBy }),
      occurred_at,
      takes_rights: String(model.events[type]?.takesRights === true),
    })),
  );
  const changes = streams.flatMap((stream) => stream.model.tables.map((table) => changeOf(table, stream)));
  const rows = changes.flatMap(rowWrites);
  const texts = [...events.flatMap(({ data, metadata }) => [data, metadata]), ...rows.map(({ text }) => text)];
  return {
    eventIds: events.map((event) => event.event_id),
    metadataText: events.at(-1)?.metadata ?? '',
    events,
    rows,
    claims: sumOfClaims(changes.flatMap(claimChanges)),
    keys: [...new Set([...streams.map(({ id }) => id), ...changes.flatMap(exclusiveValuesIn)])],
    mustNotFollow: [metadata.actor, metadata.api_key_id ?? ''],
    sizeBytes: texts.reduce((sum, text) => sum + Buffer.byteLength(text), 0),
    rightsPosition: rightsPosition ?? Number.MAX_SAFE_INTEGER,
    deadline,
  };
}

/** The rows of a stream in a table, before and after an append. */
interface Change {
  readonly table: Table<object>;
  readonly isNew: boolean;
  readonly old: readonly object[];
  readonly rows: readonly object[];
}

const changeOf = (table: Table<object>, { before, after }: StreamAppend): Change => ({
  table,
  isNew: before === undefined,
  old: before === undefined ? [] : table.rowsOf(before),
  rows: after === undefined ? [] : table.rowsOf(after),
});

const exclusiveValuesIn = ({ table, old, rows }: Change): string[] =>
  [...old, ...rows].flatMap((row) => table.exclusiveValuesOf(row as Row));

/** Rows that stay the same are not written again: an edge may list a thousand hostports and change its description. */
function rowWrites({ table, isNew, old, rows }: Change): RowWrite[] {
  const put = rows.map((row) => {
    const [value] = table.exclusiveValuesOf(row as Row);
    const order = value === undefined ? keyOf(table, row) : `${table.name} ${value}`;
    return { table, isRemoval: false, isNew, text: JSON.stringify(row), order };
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

type ClaimChange = readonly [value: string, change: number];

/** A row that stays adds nothing: it keeps its claim, also one that another account has too. */
function claimChanges({ table: { claimed }, old, rows }: Change): ClaimChange[] {
  if (claimed === undefined) return [];
  const claimOf = (row: object): string => claimValue(claimed.kind, (row as Row)[claimed.column]);
  const freed = old.map((row): ClaimChange => [claimOf(row), -1]);
  return [...rows.map((row): ClaimChange => [claimOf(row), 1]), ...freed];
}

/** The sum of the changes of each value. A value whose sum is 0 is left out. */
export function sumOfClaims(changes: Iterable<ClaimChange>): ReadonlyMap<string, number> {
  const sums = new Map<string, number>();
  for (const [value, change] of changes) sums.set(value, (sums.get(value) ?? 0) + change);
  for (const [value, sum] of sums) if (sum === 0) sums.delete(value);
  return sums;
}

const keyOf = ({ name, primaryKey }: Table<object>, row: object): string =>
  primaryKey.reduce((key, column) => `${key} ${(row as Row)[column]}`, name);
