import type { ClientBase } from 'pg';
import type { AnyReadModel, Table } from '../read-model.js';
import { STORED_EVENT, type StoredEvent, StreamFold } from './stream-fold.js';

/** Selects rows to compare, repair or write: the rows of these read models, of all streams or of some. */
export interface Scope {
  readonly models: readonly AnyReadModel[];
  /** Undefined: all accounts. */
  readonly account?: string | undefined;
  /** The id of a stream. Undefined: all streams. */
  readonly id?: string | undefined;
}

/** Some consecutive streams of a log, and the rows that they make. */
export interface Chunk {
  readonly events: number;
  /** They include streams whose entity is deleted. */
  readonly streams: readonly StreamFold[];
  readonly rows: ReadonlyMap<Table<object>, readonly object[]>;
}

/**
 * A chunk ends with the stream that reaches one of these limits. They bound how long a repair locks the writers of an
 * account.
 */
const MAX_STREAMS = 500;
const MAX_EVENTS = 2_000;
const MAX_ROWS = 2_000;

/** Folds events, which must come in the order of `eventsOf`. Memory holds one chunk, and one batch of events. */
export async function* foldedChunks(
  batches: AsyncIterable<readonly StoredEvent[]>,
  models: readonly AnyReadModel[],
): AsyncGenerator<Chunk> {
  let chunk = new GrowingChunk();
  let stream: StreamFold | undefined;
  for await (const events of batches) {
    for (const event of events) {
      if (stream?.id !== event.stream_id || stream.accountId !== event.account_id) {
        if (stream !== undefined) chunk.add(stream);
        if (chunk.isFull) yield chunk;
        if (chunk.isFull) chunk = new GrowingChunk();
        stream = new StreamFold(event.account_id, event.stream_id, modelOf(models, event.stream_id));
      }
      stream.take(event);
      chunk.events += 1;
    }
  }
  if (stream !== undefined) chunk.add(stream);
  yield chunk;
}

class GrowingChunk implements Chunk {
  events = 0;
  readonly streams: StreamFold[] = [];
  readonly rows = new Map<Table<object>, object[]>();
  private count = 0;

  get isFull(): boolean {
    return this.streams.length >= MAX_STREAMS || this.events >= MAX_EVENTS || this.count >= MAX_ROWS;
  }

  add(stream: StreamFold): void {
    this.streams.push(stream);
    for (const table of stream.model?.tables ?? []) {
      const rows = stream.rowsIn(table);
      this.count += rows.length;
      const all = this.rows.get(table);
      if (all === undefined) this.rows.set(table, [...rows]);
      else all.push(...rows);
    }
  }
}

/** The read model of the stream with this id. Undefined if it is not among the chosen ones. */
export const modelOf = (models: readonly AnyReadModel[], id: string): AnyReadModel | undefined =>
  models.find(({ streamPrefixes }) => streamPrefixes.some((prefix) => id.startsWith(`${prefix}_`)));

/** The query for the events of the scope, stream by stream. The index events_stream_version has this order. */
export const eventsOf = (scope: Scope): { readonly text: string; readonly values: readonly string[] } => {
  const { condition, values } = conditionOf(scope);
  const text = `select ${STORED_EVENT} from events e where ${condition}
    order by e.account_id, e.stream_id, e.stream_version`;
  return { text, values };
};

/** PostgreSQL's estimate of the number of events, for the progress of a command. */
export async function estimatedEvents(client: ClientBase, scope: Scope): Promise<number> {
  const { condition, values } = conditionOf(scope);
  const { rows } = await client.query<{ 'QUERY PLAN': [{ Plan: { 'Plan Rows': number } }] }>(
    `explain (format json) select from events e where ${condition}`,
    [...values],
  );
  return rows[0]?.['QUERY PLAN'][0].Plan['Plan Rows'] ?? 0;
}

function conditionOf({ models, account, id }: Scope): { condition: string; values: string[] } {
  const conditions = [`(${models.flatMap(({ streamPrefixes }) => streamPrefixes.map(hasPrefix)).join(' or ')})`];
  const values: string[] = [];
  if (account !== undefined) conditions.push(`e.account_id = $${values.push(account)}`);
  if (id !== undefined) conditions.push(`e.stream_id = $${values.push(id)}`);
  return { condition: conditions.join(' and '), values };
}

/** A range instead of `like`, so that the index can be used. The character after `_` is the backtick. */
const hasPrefix = (prefix: string): string => `e.stream_id >= '${prefix}_' and e.stream_id < '${prefix}\`'`;
