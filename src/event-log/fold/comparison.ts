import type { Client } from 'pg';
import { fetchRows, IN_INDEX_ORDER } from '../../database/index.js';
import type { ClaimChange } from '../claims/held-claims.js';
import { type Chunk, eventsOf, foldedChunks, type Scope } from './folded-chunks.js';
import { readAhead } from './read-ahead.js';
import { type FoundDifference, RowComparison } from './row-comparison.js';
import { ReplayError, type StoredEvent } from './stream-fold.js';

/** The differences that a part of the comparison found. */
interface Compared {
  /** The chunk at the end of the compared range. Differences may be in other streams too. */
  readonly chunk: Chunk;
  readonly differences: readonly FoundDifference[];
}

/** Two connections that see the same snapshot. */
interface SnapshotReaders {
  readonly events: Client;
  readonly rows: Client;
}

/**
 * Compares the live rows with the fold of the log. It needs no lock: an append changes events, head and rows in one
 * transaction, so they agree in every snapshot. It compares ranges of keys, so it also finds rows that no stream makes.
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

  /** What the claims of the log have more or less than those of the live rows, once all of them are compared. */
  get claims(): readonly ClaimChange[] {
    return this.tables.flatMap(({ claims }) => claims);
  }

  /** Yields the differences part by part, so that memory holds one part only. */
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
      // An event that cannot be folded ends the comparison. The chunk before it is complete.
      if (error instanceof ReplayError && last !== undefined) yield* this.compare(last, false);
      throw error;
    }
    if (last !== undefined) yield* this.compare(last, true);
  }

  /** Skips a table without rows in the chunk. The next range of that table then begins where its last range ended. */
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
 * For a range of two columns PostgreSQL would always expect a third of the table, and read all of it. The time zone
 * makes all printed times comparable.
 */
const BY_KEYS = `set local enable_seqscan = off; set local enable_bitmapscan = off; set local timezone = 'UTC'`;
