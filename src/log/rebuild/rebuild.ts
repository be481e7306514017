import { setTimeout as sleep } from 'node:timers/promises';
import type { Client } from 'pg';
import { DedicatedConnections, type MaintenanceDatabase } from '../../database/dedicated-connections.js';
import { claimAnew, claimDifferences } from '../claims/held-claims.js';
import type { AnyReadModel } from '../read-model.js';
import { copyInto } from '../replay/copy-rows.js';
import { estimatedEvents, replay } from '../replay/replay.js';
import { sendRows } from '../replay/send-rows.js';
import { BY_INDEX, beginCatchUp, CATCH_UP_EVENTS, eventsSinceHeads, type Lag, RECORD_HEADS } from './catch-up.js';
import { KnownStreams } from './known-streams.js';
import { RebuildLock } from './rebuild-lock.js';
import { createShadows, fill, leftovers, shapesOf } from './shadow.js';
import { MAX_EVENTS_IN_SWAP, Swap } from './swap.js';
import { SHADOWS, type TableShape } from './table-shape.js';

/** Receives the progress of a rebuild. */
export interface RebuildWatcher {
  /** A step of one read model begins; `events` estimates how many it reads. */
  step(tables: string, what: 'fill' | 'index' | 'catch up' | 'swap', events?: number): void;
  /** So many were read; an event of a stream that changes meanwhile is read again. */
  events(count: number): void;
  /** The swap would have blocked others for too long, so it is tried again; `attempt` counts from 1. */
  waiting(tables: string, attempt: number): void;
  /** The tables made of so many events are live; `pauseMs` is the longest time that a statement can have waited for them. */
  swapped(tables: string, pauseMs: number, events: number): void;
}

const BETWEEN_SWAPS_MS = 100;

/**
 * Rebuilds read models from the log and replaces the live tables, while the service runs. It can be interrupted at any
 * time: the live tables stay until one transaction replaces them.
 */
export async function rebuild(
  database: MaintenanceDatabase,
  { all, rebuilt }: { readonly all: readonly AnyReadModel[]; readonly rebuilt: readonly AnyReadModel[] },
  watcher: RebuildWatcher,
): Promise<void> {
  await DedicatedConnections.use(database, async (connections) => {
    const lock = await RebuildLock.take(connections);
    for (const model of rebuilt) await new Rebuild({ connections, lock, all }, model, watcher).run();
    await repairClaims(connections, rebuilt);
  });
}

/** After the rows: one account after the other, whose writers wait for it. */
async function repairClaims(connections: DedicatedConnections, models: readonly AnyReadModel[]): Promise<void> {
  const wrong = new Set<string>();
  const reader = await connections.openSnapshot();
  for await (const found of claimDifferences(reader, models)) for (const { account } of found) wrong.add(account);
  await connections.release(reader);
  for (const account of wrong) {
    const client = await connections.openTransaction();
    await client.query('select from log_heads where account_id = $1 for update', [account]);
    await claimAnew(client, models, account);
    await connections.commit(client);
    await connections.release(client);
  }
}

interface RunContext {
  readonly connections: DedicatedConnections;
  readonly lock: RebuildLock;
  /** Every read model, since an interrupted run may have left tables of any. */
  readonly all: readonly AnyReadModel[];
}

class Rebuild {
  private readonly tables: string;
  private readonly known = new KnownStreams();
  /** The events that the shadows show, each of them once. */
  private events = 0;

  constructor(
    private readonly context: RunContext,
    private readonly model: AnyReadModel,
    private readonly watcher: RebuildWatcher,
  ) {
    this.tables = model.tables.map(({ name }) => name).join(', ');
  }

  async run(): Promise<void> {
    const writer = await this.context.connections.open();
    await this.dropLeftovers(writer);
    const shapes = await this.relaxedTransaction(writer, async () => {
      const found = await shapesOf(writer, this.model);
      await createShadows(writer, found);
      // Before the reader's snapshot: events between the two are read twice rather than missed.
      await writer.query(RECORD_HEADS);
      return found;
    });
    await this.relaxedTransaction(writer, () => this.fill(writer));
    this.watcher.step(this.tables, 'index');
    for (const shape of shapes) await this.relaxedTransaction(writer, () => constrain(writer, shape));
    await this.relaxedTransaction(writer, () => this.analyze(writer));
    await this.catchUpUntilClose(writer);
    await this.swap(shapes, writer);
    // Its commits wait for the disk and standbys, and so for all earlier commits, including the swap.
    await this.dropLeftovers(writer);
    await this.context.connections.release(writer);
  }

  /**
   * Drops each table in a transaction of its own. A statement that waited for the swap locks the replaced tables once more
   * before it finds the new ones: it may hold one and wait for another, and a transaction that drops both would deadlock with it.
   */
  private async dropLeftovers(writer: Client): Promise<void> {
    for (const name of await leftovers(writer, this.context.all)) {
      await this.transaction(writer, () => writer.query(`drop table ${name}`));
    }
  }

  /** Commits without waiting for the disk: shadows are not needed after a crash. */
  private relaxedTransaction<T>(writer: Client, work: () => Promise<T>): Promise<T> {
    return this.transaction(writer, async () => {
      await writer.query('set local synchronous_commit = off');
      return work();
    });
  }

  /** Runs `work` in one transaction that holds the lock. */
  private async transaction<T>(writer: Client, work: () => Promise<T>): Promise<T> {
    await this.context.connections.begin(writer);
    await this.context.lock.hold(writer);
    const result = await work();
    await writer.query('commit');
    return result;
  }

  private async fill(writer: Client): Promise<void> {
    this.watcher.step(this.tables, 'fill', await estimatedEvents(writer, this.model));
    const reader = await this.context.connections.openSnapshot();
    this.events -= await eventsSinceHeads(reader, this.model);
    await fill({ reader, writer }, this.model, (count) => {
      this.events += count;
      this.watcher.events(count);
    });
    await this.context.connections.release(reader);
  }

  private async analyze(writer: Client): Promise<void> {
    for (const { name } of this.model.tables) await writer.query(`analyze ${SHADOWS}.${name}`);
  }

  private async catchUpUntilClose(writer: Client): Promise<void> {
    this.watcher.step(this.tables, 'catch up');
    let lag: Lag;
    do lag = await this.catchUp(writer);
    while (lag.events > MAX_EVENTS_IN_SWAP);
  }

  /** Brings the shadows to the current end of the logs. Memory holds one entity at a time, and the known streams. */
  private async catchUp(writer: Client): Promise<Lag> {
    const lag = await this.relaxedTransaction(writer, async () => {
      await writer.query(BY_INDEX);
      return beginCatchUp(writer, this.model);
    });
    this.events += lag.events;
    if (lag.events === 0) return lag;
    const reader = await this.context.connections.openSnapshot();
    await reader.query(BY_INDEX);
    const onEvents = (count: number): void => this.watcher.events(count);
    await this.relaxedTransaction(writer, async () => {
      const { entityOf } = this.known;
      const replayed = replay(reader, this.model, CATCH_UP_EVENTS, { onEvents, findPriorEntity: entityOf });
      await sendRows(this.known.recordAll(replayed), await copyInto(writer, this.model, SHADOWS));
      await this.known.save(writer);
    });
    await this.context.connections.release(reader);
    return lag;
  }

  private async swap(shapes: readonly TableShape[], writer: Client): Promise<void> {
    this.watcher.step(this.tables, 'swap');
    const { connections, lock } = this.context;
    const swap = new Swap(connections, lock, { model: this.model, shapes, known: this.known });
    for (let attempt = 1; !(await swap.try(attempt, () => this.catchUp(writer))); attempt += 1) {
      this.watcher.waiting(this.tables, attempt);
      await sleep(BETWEEN_SWAPS_MS * (0.5 + Math.random()));
    }
    this.watcher.swapped(this.tables, swap.longestPauseMs, this.events + swap.events);
  }
}

/** Uses one core only, since the service needs the others. */
async function constrain(writer: Client, { schema, constrain }: TableShape): Promise<void> {
  await writer.query(`set local search_path = ${SHADOWS}, "${schema}"; set local maintenance_work_mem = '256MB';
    set local max_parallel_maintenance_workers = 0`);
  for (const statement of constrain) await writer.query(statement);
}
