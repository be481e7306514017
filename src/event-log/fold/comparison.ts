import type { Client } from 'pg';
import { fetchRows, IN_INDEX_ORDER, readAhead } from '../../database/index.js';
import { type Chunk, eventsOf, foldedChunks, type Scope } from './folded-chunks.js';
import { type FoundDifference, RowComparison } from './row-comparison.js';
import { ReplayError, type StoredEvent } from './stream-fold.js';

/** What a part of the comparison found. */
interface Compared {
  /** The streams at the end of the range. Those of the differences may be others. */
  readonly chunk: Chunk;
  readonly differences: readonly FoundDifference[];
}

/** Two connections that see the same snapshot. */
interface SnapshotReaders {
  readonly events: Client;
  readonly rows: Client;
}

/**
 * Compares the live rows with the fold of the log, without a lock: events, heads and rows change in one transaction, so they
 * agree in every snapshot, also under load. A row that no stream makes is found in the range of its key, whatever account and
 * prefix it has.
 */
export class Comparison {
  events = 0;
  differences = 0;
  private readonly tables: readonly RowComparison[];

  constructor(
    private readonly readers: SnapshotReaders,
    private readonly scope: Scope,
    private readonly onEvents: (count: number) => void,
  ) {
    this.tables = scope.models.flatMap((model) =>
      model.tables.map((table) => new RowComparison(readers.rows, scope, model, table)),
    );
  }

  get rows(): number {
    return this.tables.reduce((sum, { rows }) => sum + rows, 0);
  }

  /** Yields what it finds, and memory holds a part of it. */
  async *run(): AsyncGenerator<Compared> {
    const { events, rows } = this.readers;
    await events.query(IN_INDEX_ORDER);
    await rows.query(BY_KEYS);
    const { text, values } = eventsOf(this.scope);
    const batches = readAhead(fetchRows<StoredEvent>(events, text, values));
    // The next chunk is folded while PostgreSQL compares the last.
    const chunks = readAhead(foldedChunks(batches, this.scope.models));
    let last: Chunk | undefined;
    try {
      for await (const chunk of chunks) {
        if (last !== undefined) yield* this.compare(last, false);
        last = chunk;
      }
    } catch (error) {
      // An event that cannot be folded ends the comparison, and the chunk before it is whole.
      if (error instanceof ReplayError && last !== undefined) yield* this.compare(last, false);
      throw error;
    }
    if (last !== undefined) yield* this.compare(last, true);
  }

  /** A table that the chunk has no rows of waits for a later one, whose range then begins where its last one ended. */
  private async *compare(chunk: Chunk, isLast: boolean): AsyncGenerator<Compared> {
    const end = isLast ? undefined : chunk.streams.at(-1);
    for (const comparison of this.tables) {
      const log = chunk.rows.get(comparison.table) ?? [];
      if (log.length === 0 && !isLast) continue;
      for await (const differences of comparison.differencesUpTo(end, log)) {
        this.differences += differences.length;
        yield { chunk, differences };
      }
    }
    this.events += chunk.events;
    this.onEvents(chunk.events);
  }
}

/**
 * PostgreSQL expects a third of the table in a range of two columns, whatever it is, and would read all of it. One time zone
 * makes every printed time the same text.
 */
const BY_KEYS = `set local enable_seqscan = off; set local enable_bitmapscan = off; set local timezone = 'UTC'`;
