import type { Client } from 'pg';
import { oneByOne } from '../../database/cursor.js';
import type { DedicatedConnections } from '../../database/dedicated-connections.js';
import { PostgresFailure } from '../../database/failure.js';
import { OperatorError } from '../../operator-error.js';
import type { AnyReadModel } from '../read-model.js';
import { copyInto } from '../replay/copy-rows.js';
import { replay } from '../replay/replay.js';
import { sendRows } from '../replay/send-rows.js';
import { BY_INDEX, beginCatchUp, CATCH_UP_EVENTS } from './catch-up.js';
import type { KnownStreams } from './known-streams.js';
import type { RebuildLock } from './rebuild-lock.js';
import { shapesOf } from './shadow.js';
import { isSameShape, REPLACED, SHADOWS, type TableShape } from './table-shape.js';

/** Limit of events to fold during a swap, since all requests to its tables wait meanwhile. */
export const MAX_EVENTS_IN_SWAP = 500;
/** How long the swap waits for running statements; later statements wait for the swap. */
const LOCK_TIMEOUT_MS = 15;
const MAX_LOCK_TIMEOUT_MS = 40;
/** For the lock against migrations, which blocks no reader or writer; an autovacuum yields to it after a second. */
const DEFINITION_LOCK_TIMEOUT = '3s';
/** A swap whose client hangs or lost its connection must release the tables. */
const SWAP_TIMEOUT = '5s';

/** A read model with filled shadows. */
interface ShadowedModel {
  readonly model: AnyReadModel;
  readonly shapes: readonly TableShape[];
  readonly known: KnownStreams;
}

/** The transaction that replaces the live tables of a read model by their shadows. */
export class Swap {
  /** The longest time that a statement can have waited for the tables: from an attempt's lock request to its end. */
  longestPauseMs = 0;
  /** The events that the successful attempt took over while it held the tables. */
  events = 0;
  private readonly live: readonly string[];

  constructor(
    private readonly connections: DedicatedConnections,
    private readonly lock: RebuildLock,
    private readonly shadowed: ShadowedModel,
  ) {
    this.live = shadowed.model.tables.map(({ name }, i) => `"${shadowed.shapes[i]?.schema}".${name}`);
  }

  /** Returns false if the swap would have blocked others for too long. Calls `catchUp` as late as possible. */
  async try(attempt: number, catchUp: () => Promise<unknown>): Promise<boolean> {
    const client = await this.connections.open();
    const isDone = await this.tryOn(client, attempt, catchUp);
    await this.connections.release(client);
    return isDone;
  }

  private async tryOn(client: Client, attempt: number, catchUp: () => Promise<unknown>): Promise<boolean> {
    let requestedMs: number | undefined;
    try {
      await this.lockDefinition(client);
      await catchUp();
      requestedMs = performance.now();
      return await this.replaceTables(client, attempt);
    } catch (error) {
      const failure = PostgresFailure.of(error);
      if (failure.isLockHeld || failure.isDeadlock) return false;
      throw error;
    } finally {
      if (requestedMs !== undefined) {
        this.longestPauseMs = Math.max(this.longestPauseMs, performance.now() - requestedMs);
      }
    }
  }

  /** Keeps migrations out. Throws OperatorError if one has changed a table since its shadow was created. */
  private async lockDefinition(client: Client): Promise<void> {
    const { model, shapes } = this.shadowed;
    await this.connections.begin(client);
    await this.lock.hold(client);
    await client.query(`set local lock_timeout = '${DEFINITION_LOCK_TIMEOUT}'; ${BY_INDEX};
      lock table ${this.live.join(', ')} in share update exclusive mode`);
    const now = await shapesOf(client, model);
    if (now.every((shape, i) => isSameShape(shape, shapes[i]))) return;
    const tables = model.tables.map(({ name }) => name).join(', ');
    throw new OperatorError(`${tables}: the definition changed during the rebuild (a migration?); run it again`);
  }

  /**
   * Locks the tables first, like an append, which then waits for the account's head; the other order would deadlock
   * with it. Commits without waiting for the disk, since requests wait meanwhile: later commits follow in PostgreSQL's
   * own log, so no crash can keep them and lose the swap.
   */
  private async replaceTables(client: Client, attempt: number): Promise<boolean> {
    const lockTimeoutMs = Math.min(LOCK_TIMEOUT_MS + 5 * (attempt - 1), MAX_LOCK_TIMEOUT_MS);
    await client.query(`set local lock_timeout = ${lockTimeoutMs}; set local statement_timeout = '${SWAP_TIMEOUT}';
      set local idle_in_transaction_session_timeout = '${SWAP_TIMEOUT}'; set local synchronous_commit = off;
      lock table ${this.live.join(', ')} in access exclusive mode`);
    if (!(await this.catchUpLocked(client))) {
      await client.query('rollback');
      return false;
    }
    await client.query(`${this.swapStatements().join('; ')}; commit`);
    return true;
  }

  /** Brings the shadows to the end of the logs, on the connection that holds the locks; false if too far behind. */
  private async catchUpLocked(client: Client): Promise<boolean> {
    const { model, known } = this.shadowed;
    const lag = await beginCatchUp(client, model);
    if (lag.toFold > MAX_EVENTS_IN_SWAP) return false;
    this.events = lag.events;
    if (lag.events === 0) return true;
    const run = oneByOne();
    const targets = await copyInto(client, model, SHADOWS, run);
    await sendRows(replay(client, model, CATCH_UP_EVENTS, { findPriorEntity: known.entityOf, run }), targets);
    return true;
  }

  private swapStatements(): string[] {
    const { model, shapes } = this.shadowed;
    return model.tables.flatMap(({ name }, i) => [
      `alter table ${this.live[i]} set schema ${REPLACED}`,
      `alter table ${SHADOWS}.${name} set schema "${shapes[i]?.schema}"`,
      ...(shapes[i]?.guard ?? []),
    ]);
  }
}
