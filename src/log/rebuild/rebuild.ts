import type { Client } from 'pg';
import { DedicatedConnections, type MaintenanceDatabase } from '../../database/dedicated-connections.js';
import type { AnyReadModel } from '../read-model.js';
import { estimatedEvents, replay } from '../replay/replay.js';
import { encodersOf, type RowEncoder } from '../replay/row-encoder.js';
import { RowWriter } from '../replay/row-writer.js';
import { BY_INDEX, EVENTS_OF_GAP, type Lag, openGap } from './catch-up.js';
import { KnownStreams } from './known-streams.js';
import { RebuildLock } from './rebuild-lock.js';
import { dropLeftovers, fill, makeShadows, shapesOf, writeAll } from './shadow.js';
import { MAX_EVENTS_IN_SWAP, Swap } from './swap.js';
import { SHADOWS, type TableShape } from './table-shape.js';

/** What a rebuild tells of its way. */
export interface RebuildWatcher {
  /** A step of one read model begins; `events` is about how many it reads. */
  step(tables: string, what: 'fill' | 'index' | 'catch up' | 'swap', events?: number): void;
  events(count: number): void;
  /** The swap would have made others wait for too long and is tried again; `attempt` counts from 1. */
  waiting(tables: string, attempt: number): void;
  /** The new tables are in their place; `pauseMs` is the longest that anybody can have waited for them. */
  swapped(tables: string, pauseMs: number): void;
}

const BETWEEN_SWAPS_MS = 100;

/**
 * Makes read models anew from the log and puts them in the place of the live tables, while the service runs. Nothing is
 * lost when it is interrupted: the live tables stay until the one transaction that replaces them.
 */
export async function rebuild(
  place: MaintenanceDatabase,
  { all, rebuilt }: { readonly all: readonly AnyReadModel[]; readonly rebuilt: readonly AnyReadModel[] },
  watcher: RebuildWatcher,
): Promise<void> {
  await DedicatedConnections.use(place, async (connections) => {
    const turn = await RebuildLock.take(connections);
    for (const model of rebuilt) await new Rebuild({ connections, turn, all }, model, watcher).run();
  });
}

interface Run {
  readonly connections: DedicatedConnections;
  readonly turn: RebuildLock;
  /** Every read model that an interrupted run may have left something of. */
  readonly all: readonly AnyReadModel[];
}

class Rebuild {
  private readonly tables: string;
  private readonly known = new KnownStreams();
  private encoders: readonly RowEncoder[] = [];

  constructor(
    private readonly at: Run,
    private readonly model: AnyReadModel,
    private readonly watcher: RebuildWatcher,
  ) {
    this.tables = model.tables.map(({ name }) => name).join(', ');
  }

  async run(): Promise<void> {
    const writer = await this.at.connections.open();
    const shapes = await this.writing(writer, async () => {
      await dropLeftovers(writer, this.at.all);
      const found = await shapesOf(writer, this.model);
      this.encoders = await encodersOf(writer, this.model);
      await makeShadows(writer, found);
      return found;
    });
    await this.writing(writer, () => this.fill(writer));
    this.watcher.step(this.tables, 'index');
    for (const shape of shapes) await this.writing(writer, () => constrain(writer, shape));
    await this.writing(writer, () => this.analyze(writer));
    await this.catchUpUntilClose(writer);
    await this.swap(shapes, writer);
    // Waits for the disk and standbys, and so for all that was written before it, the swap too.
    await this.inTurn(writer, () => dropLeftovers(writer, this.at.all));
    await writer.end();
  }

  /** Nothing of this is needed after a crash. */
  private writing<T>(writer: Client, work: () => Promise<T>): Promise<T> {
    return this.inTurn(writer, async () => {
      await writer.query('set local synchronous_commit = off');
      return work();
    });
  }

  private async inTurn<T>(writer: Client, work: () => Promise<T>): Promise<T> {
    await this.at.connections.begin(writer);
    await this.at.turn.hold(writer);
    const done = await work();
    await writer.query('commit');
    return done;
  }

  private async fill(writer: Client): Promise<void> {
    this.watcher.step(this.tables, 'fill', await estimatedEvents(writer, this.model));
    const reader = await this.at.connections.openSnapshot();
    const rows = new RowWriter(writer, this.encoders, SHADOWS);
    await fill({ reader, writer, rows }, this.model, (count) => this.watcher.events(count));
    await reader.end();
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

  /** Brings the shadows to where the log is when it begins. Memory holds one entity at a time, and those that are known. */
  private async catchUp(writer: Client): Promise<Lag> {
    const lag = await this.writing(writer, async () => {
      await writer.query(BY_INDEX);
      return openGap(writer, this.model);
    });
    if (lag.events === 0) return lag;
    const reader = await this.at.connections.openSnapshot();
    await reader.query(BY_INDEX);
    const onEvents = (count: number): void => this.watcher.events(count);
    await this.writing(writer, async () => {
      const replayed = replay(reader, this.model, EVENTS_OF_GAP, onEvents, this.known.entityOf);
      await writeAll(replayed, new RowWriter(writer, this.encoders, SHADOWS), this.known);
      await this.known.save(writer);
    });
    await reader.end();
    return lag;
  }

  private async swap(shapes: readonly TableShape[], writer: Client): Promise<void> {
    this.watcher.step(this.tables, 'swap');
    const { connections, turn } = this.at;
    const swap = new Swap(connections, turn, { model: this.model, shapes, encoders: this.encoders, known: this.known });
    for (let attempt = 1; !(await swap.try(attempt, () => this.catchUp(writer))); attempt += 1) {
      this.watcher.waiting(this.tables, attempt);
      await new Promise((resolve) => setTimeout(resolve, BETWEEN_SWAPS_MS * (0.5 + Math.random())));
    }
    this.watcher.swapped(this.tables, swap.longestPauseMs);
  }
}

/** On one core: the service needs the others. */
async function constrain(writer: Client, { schema, constrain }: TableShape): Promise<void> {
  await writer.query(`set local search_path = ${SHADOWS}, "${schema}"; set local maintenance_work_mem = '256MB';
    set local max_parallel_maintenance_workers = 0`);
  for (const statement of constrain) await writer.query(statement);
}
