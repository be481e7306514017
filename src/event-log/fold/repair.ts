import { DedicatedConnections, type MaintenanceDatabase } from '../../database/index.js';
import type { Table } from '../read-model.js';
import { ClaimRepair } from './claim-repair.js';
import { Comparison } from './comparison.js';
import { type Chunk, estimatedEvents, type Scope } from './folded-chunks.js';
import type { Difference, FoundDifference } from './row-comparison.js';
import type { StreamFold } from './stream-fold.js';
import { DifferingStreams, StreamRepair } from './stream-repair.js';

/** What a repair has read and changed. */
export interface Repaired {
  /** The number of events that were folded. */
  readonly events: number;
  /** The number of rows that were compared. */
  readonly rows: number;
  /** The number of differences, with those of the claims. */
  readonly differences: number;
  readonly removed: number;
  readonly written: number;
  /** The longest time that the writers of an account waited. */
  readonly longestHeldMs: number;
}

export interface RepairWatcher {
  /** The comparison begins. `events` is an estimate. */
  readonly begin: (events: number) => void;
  readonly events: (count: number) => void;
  readonly difference: (difference: Difference) => void;
}

/**
 * Compares the live rows with the log as the proof does, and replaces the rows that differ, a few streams in each
 * transaction. It can be stopped at any time and run again, and two repairs may run at once. Each transaction reads its
 * rows again under the lock of the heads.
 */
export async function repair(database: MaintenanceDatabase, scope: Scope, watcher: RepairWatcher): Promise<Repaired> {
  return DedicatedConnections.use(database, async (connections) => {
    const rows = await connections.openSnapshot();
    watcher.begin(await estimatedEvents(rows, scope));
    const events = await connections.openSnapshot(await connections.exportSnapshot(rows));
    const writer = await connections.open();
    const streams = new StreamRepair(connections, writer);
    const comparison = new Comparison({ events, rows }, scope, watcher.events);
    const batches = new Batches(scope, streams);
    for await (const { chunk, differences } of comparison.run()) {
      for (const difference of differences) {
        watcher.difference(difference);
        await batches.add(chunk, difference);
      }
    }
    await batches.repair();
    await Promise.all([events, rows].map((client) => connections.release(client)));
    const claims = new ClaimRepair(connections, writer, scope);
    // Claims follow from rows, so they are repaired last. Which claims belong to one stream is not known.
    if (scope.id === undefined) await claims.run(await connections.openSnapshot(), watcher.difference);
    return {
      events: comparison.events,
      rows: comparison.rows,
      differences: comparison.differences + claims.differences,
      removed: streams.removed,
      written: streams.written,
      longestHeldMs: Math.max(streams.longestHeldMs, claims.longestHeldMs),
    };
  });
}

/**
 * The limits are half a chunk, because the rows of a stream are written together, and an edge may have a thousand rows.
 */
const MAX_STREAMS = 250;
const MAX_ROWS = 1_000;

/** Collects streams that differ, and repairs them at the end of a chunk at the latest. */
class Batches {
  private readonly tables: ReadonlyMap<string, Table<object>>;
  private chunk: Chunk | undefined;
  private known = new Map<string, StreamFold>();
  private differing: DifferingStreams;
  private rows = 0;
  /** The row of the last difference. All differences of a row follow each other. */
  private lastRow = '';

  constructor(
    private readonly scope: Scope,
    private readonly streams: StreamRepair,
  ) {
    this.tables = new Map(scope.models.flatMap(({ tables }) => tables.map((table) => [table.name, table])));
    this.differing = new DifferingStreams(scope.models);
  }

  async add(chunk: Chunk, { table: name, account, id, key }: FoundDifference): Promise<void> {
    const place = { accountId: account, id };
    const isFull = this.differing.size >= MAX_STREAMS || this.rows >= MAX_ROWS;
    if (chunk !== this.chunk || (isFull && !this.differing.has(place))) await this.repair();
    if (chunk !== this.chunk) this.begin(chunk);
    const table = this.tables.get(name);
    if (table !== undefined) this.differing.tables.add(table);
    this.differing.add(place, this.known.get(`${account} ${id}`));
    const row = `${name} ${account} ${key}`;
    if (row !== this.lastRow) this.rows += 1;
    this.lastRow = row;
  }

  async repair(): Promise<void> {
    if (this.differing.size > 0) await this.streams.run(this.differing);
    this.differing = new DifferingStreams(this.scope.models);
    this.rows = 0;
  }

  private begin(chunk: Chunk): void {
    this.chunk = chunk;
    this.known = new Map(chunk.streams.map((stream) => [`${stream.accountId} ${stream.id}`, stream]));
  }
}
