import { claimValue, type Row, type Table } from '../read-model.js';
import type { Append, StreamAppend } from './append.js';
import { newEventId } from './event-ids.js';

/** A whole row to write, or the key of a row to remove, as JSON. */
export interface RowWrite {
  readonly table: Table<object>;
  readonly isRemoval: boolean;
  /** The row belongs to a new entity, whose id no row has. */
  readonly isNew: boolean;
  readonly text: string;
  /** Rows are sent in the order of this text, which is the same in every process. */
  readonly order: string;
  /** As in StreamAppend. All rows of a table that have one have the same. */
  readonly maximum?: number | undefined;
}

/** The fields of an event in an append, with the types that PostgreSQL casts the texts to. */
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

/** One command that is ready to be sent, also several times. */
export interface PreparedAppend {
  readonly eventIds: readonly string[];
  /**
   * The stored metadata of the last event. Its operation id distinguishes this command from another with the same event
   * id.
   */
  readonly metadataText: string;
  readonly events: readonly EventTexts[];
  readonly rows: readonly RowWrite[];
  /**
   * For each claimed value, how many more rows of the account have it than before. Negative numbers mean fewer rows.
   */
  readonly claims: ReadonlyMap<string, number>;
  /** Streams that are written, and values that are taken or freed. No two commands of a batch may share one. */
  readonly keys: readonly string[];
  /**
   * Streams of the principal and the API key that make the change. No earlier command of the batch may change one of
   * them.
   */
  readonly mustNotFollow: readonly string[];
  readonly sizeBytes: number;
  /** The append is refused if the head has a later change of rights. */
  readonly rightsPosition: number;
  /** At this time of performance.now() the caller gets 503. */
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
  readonly maximum: number | undefined;
}

const changeOf = (table: Table<object>, { before, after, maximum }: StreamAppend): Change => ({
  table,
  maximum,
  isNew: before === undefined,
  old: before === undefined ? [] : table.rowsOf(before),
  rows: after === undefined ? [] : table.rowsOf(after),
});

const exclusiveValuesIn = ({ table, old, rows }: Change): string[] =>
  [...old, ...rows].flatMap((row) => table.exclusiveValuesOf(row as Row));

/** Leaves out rows that stay the same: an edge may have a thousand hostports and change its description only. */
function rowWrites({ table, isNew, old, rows, maximum }: Change): RowWrite[] {
  const put = rows.map((row) => {
    const [value] = table.exclusiveValuesOf(row as Row);
    const order = value === undefined ? keyOf(table, row) : `${table.name} ${value}`;
    return { table, isRemoval: false, isNew, text: JSON.stringify(row), order, maximum };
  });
  if (old.length === 0) return put;
  const unchanged = new Set(old.map((row) => JSON.stringify(row)));
  const kept = new Set(rows.map((row) => keyOf(table, row)));
  const gone = old.filter((row) => !kept.has(keyOf(table, row)));
  // A removal needs only the columns of the key.
  const textOf = (row: object): string => JSON.stringify(row, [...table.primaryKey]);
  const removals = gone.map((row) => {
    return { table, isRemoval: true, isNew: false, text: textOf(row), order: keyOf(table, row) };
  });
  return [...removals, ...put.filter(({ text }) => !unchanged.has(text))];
}

type ClaimChange = readonly [value: string, change: number];

/** A row that stays changes no claim, even if another account has the same claim. */
function claimChanges({ table: { claimed }, old, rows }: Change): ClaimChange[] {
  if (claimed === undefined) return [];
  const claimOf = (row: object): string => claimValue(claimed.kind, (row as Row)[claimed.column]);
  const freed = old.map((row): ClaimChange => [claimOf(row), -1]);
  return [...rows.map((row): ClaimChange => [claimOf(row), 1]), ...freed];
}

/** The sum of the changes of each value. Values with the sum 0 are left out. */
export function sumOfClaims(changes: Iterable<ClaimChange>): ReadonlyMap<string, number> {
  const sums = new Map<string, number>();
  for (const [value, change] of changes) sums.set(value, (sums.get(value) ?? 0) + change);
  for (const [value, sum] of sums) if (sum === 0) sums.delete(value);
  return sums;
}

const keyOf = ({ name, primaryKey }: Table<object>, row: object): string =>
  primaryKey.reduce((key, column) => `${key} ${(row as Row)[column]}`, name);
