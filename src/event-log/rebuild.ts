import type { Client } from 'pg';
import { copyOut } from '../database/copy.js';
import { PostgresFailure } from '../database/failure.js';
import { OwnConnections, type WorkPlace } from '../database/own-connections.js';
import type { AnyReadModel } from './read-model.js';
import { estimatedEvents, Folding, replay } from './replay.js';
import { printersOf, type RowPrinter } from './row-printer.js';
import { RowWriter } from './row-writer.js';
import {
  BY_INDEX,
  dropLeftovers,
  eventsOfGap,
  fill,
  type Lag,
  makeShadows,
  openGap,
  shapesOf,
  takeTurn,
  writeAll,
} from './shadow.js';
import { isSameShape, REPLACED, RebuildError, SHADOWS, type TableShape } from './table-shape.js';

/** What a rebuild tells of its way. */
export interface RebuildWatcher {
  /** A step of one read model begins; `events` is about how many it reads. */
  step(tables: string, what: 'fill' | 'index' | 'catch up' | 'swap', events?: number): void;
  events(count: number): void;
  /** The swap did not get its lock in time and is tried again; `attempt` counts from 1. */
  waiting(tables: string, attempt: number): void;
}

/** Events to fold that fit into a swap: its pause is what others wait. */
const MAX_EVENTS_IN_SWAP = 500;
/** The swap waits this long for statements under way, and everyone who comes after waits for the swap. */
const LOCK_TIMEOUT_MS = 15;
const MAX_LOCK_TIMEOUT_MS = 40;
/** Nobody who reads or writes waits for the lock that keeps migrations away; an autovacuum gives way to it after a second. */
const DEFINITION_LOCK_TIMEOUT = '3s';
const BETWEEN_SWAPS_MS = 100;
/** A swap whose client is frozen or cut off must not hold the tables. */
const SWAP_TIMEOUT = '5s';

/**
 * Makes read models anew from the log and puts them in the place of the live tables, while the service runs. Nothing is
 * lost when it is interrupted: the live tables stay until the one transaction that replaces them.
 */
export async function rebuild(
  place: WorkPlace,
  models: readonly AnyReadModel[],
  watcher: RebuildWatcher,
): Promise<void> {
  await OwnConnections.use(place, async (connections) => {
    const turn = await connections.open();
    await takeTurn(turn);
    for (const model of models) await new Rebuild(connections, model, watcher).run();
  });
}

class Rebuild {
  private readonly tables: string;
  private printers: readonly RowPrinter[] = [];

  constructor(
    private readonly connections: OwnConnections,
    private readonly model: AnyReadModel,
    private readonly watcher: RebuildWatcher,
  ) {
    this.tables = model.tables.map(({ name }) => name).join(', ');
  }

  async run(): Promise<void> {
    const writer = await this.connections.open();
    // Nothing of this is needed after a crash; the swap's own commit waits for the disk, and for all that came before it.
    await writer.query('set synchronous_commit = off');
    await dropLeftovers(writer);
    const shapes = await shapesOf(writer, this.model);
    this.printers = await printersOf(writer, this.model);
    await makeShadows(writer, shapes);
    await this.fill(writer);
    await this.constrain(writer, shapes);
    await this.catchUpUntilClose(writer);
    await this.swap(shapes, writer);
    await dropLeftovers(writer);
    await writer.end();
  }

  private async fill(writer: Client): Promise<void> {
    this.watcher.step(this.tables, 'fill', await estimatedEvents(writer, this.model));
    const reader = await this.connections.openSnapshot();
    await fill({ reader, writer, rows: this.writerOn(writer) }, this.model, (count) => this.watcher.events(count));
    await reader.end();
  }

  private async constrain(writer: Client, shapes: readonly TableShape[]): Promise<void> {
    this.watcher.step(this.tables, 'index');
    for (const { schema, constrain } of shapes) {
      await writer.query(
        `begin; set local search_path = ${SHADOWS}, "${schema}"; set local maintenance_work_mem = '256MB'`,
      );
      for (const statement of constrain) await writer.query(statement);
      await writer.query('commit');
    }
    for (const { name } of this.model.tables) await writer.query(`analyze ${SHADOWS}.${name}`);
  }

  private async catchUpUntilClose(writer: Client): Promise<void> {
    this.watcher.step(this.tables, 'catch up');
    let lag: Lag;
    do lag = await this.catchUp(writer);
    while (lag.events > MAX_EVENTS_IN_SWAP);
  }

  /** Brings the shadows to where the log is when it begins. Memory holds one entity at a time, however far that is. */
  private async catchUp(writer: Client): Promise<Lag> {
    await writer.query(`begin; ${BY_INDEX}`);
    const lag = await openGap(writer, this.model);
    await writer.query('commit');
    if (lag.events === 0) return lag;
    const reader = await this.connections.openSnapshot();
    await reader.query(BY_INDEX);
    const replayed = replay(reader, this.model, eventsOfGap, (count) => this.watcher.events(count));
    await writeAll(replayed, this.writerOn(writer));
    await reader.end();
    return lag;
  }

  private async swap(shapes: readonly TableShape[], writer: Client): Promise<void> {
    this.watcher.step(this.tables, 'swap');
    for (let attempt = 1; !(await this.trySwap(shapes, attempt)); attempt += 1) {
      this.watcher.waiting(this.tables, attempt);
      await new Promise((resolve) => setTimeout(resolve, BETWEEN_SWAPS_MS * (0.5 + Math.random())));
      await this.catchUp(writer);
    }
  }

  /** False when it could not be done without making others wait. */
  private async trySwap(shapes: readonly TableShape[], attempt: number): Promise<boolean> {
    const client = await this.connections.open();
    try {
      return await this.swapNow(client, shapes, attempt);
    } catch (error) {
      if (isInTheWay(error)) return false;
      throw error;
    } finally {
      await client.end();
    }
  }

  /**
   * The tables are locked before anything else. An append holds its tables' locks first and waits for the account's head
   * then: whoever took the head first and the tables after it would deadlock with every append that waits.
   */
  private async swapNow(client: Client, shapes: readonly TableShape[], attempt: number): Promise<boolean> {
    const live = this.liveNames(shapes).join(', ');
    await client.query(`begin; set local lock_timeout = '${DEFINITION_LOCK_TIMEOUT}'; set local timezone = 'UTC'; ${BY_INDEX};
      lock table ${live} in share update exclusive mode`);
    await this.refuseOtherShapes(client, shapes);
    const lockTimeoutMs = Math.min(LOCK_TIMEOUT_MS + 5 * (attempt - 1), MAX_LOCK_TIMEOUT_MS);
    await client.query(`set local lock_timeout = ${lockTimeoutMs}; set local statement_timeout = '${SWAP_TIMEOUT}';
      set local idle_in_transaction_session_timeout = '${SWAP_TIMEOUT}'; lock table ${live} in access exclusive mode`);
    if (!(await this.catchUpLocked(client))) return false;
    await client.query(`${this.exchange(shapes).join('; ')}; commit`);
    return true;
  }

  private async refuseOtherShapes(client: Client, shapes: readonly TableShape[]): Promise<void> {
    const now = await shapesOf(client, this.model);
    if (now.every((shape, i) => isSameShape(shape, shapes[i]))) return;
    throw new RebuildError(`${this.tables}: the definition changed meanwhile (a migration?); run it again`);
  }

  /** The same as `catchUp`, on the one connection that holds the locks. */
  private async catchUpLocked(client: Client): Promise<boolean> {
    const lag = await openGap(client, this.model);
    if (lag.toFold > MAX_EVENTS_IN_SWAP) return false;
    if (lag.events === 0) return true;
    const folding = new Folding(this.model);
    const streams = [];
    for await (const lines of copyOut(client, eventsOfGap)) streams.push(folding.take(lines));
    await writeAll([...streams, folding.end()], this.writerOn(client));
    return true;
  }

  private writerOn(client: Client): RowWriter {
    return new RowWriter(client, this.printers, SHADOWS);
  }

  private liveNames(shapes: readonly TableShape[]): string[] {
    return this.model.tables.map(({ name }, i) => `"${shapes[i]?.schema}".${name}`);
  }

  private exchange(shapes: readonly TableShape[]): string[] {
    const live = this.liveNames(shapes);
    return this.model.tables.flatMap(({ name }, i) => [
      `alter table ${live[i]} set schema ${REPLACED}`,
      `alter table ${SHADOWS}.${name} set schema "${shapes[i]?.schema}"`,
      ...(shapes[i]?.guard ?? []),
    ]);
  }
}

const LOCK_NOT_AVAILABLE = '55P03';

function isInTheWay(error: unknown): boolean {
  const failure = PostgresFailure.of(error);
  return failure.isDeadlock || (error instanceof Error && 'code' in error && error.code === LOCK_NOT_AVAILABLE);
}
