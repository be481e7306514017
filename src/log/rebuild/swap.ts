import type { Client } from 'pg';
import { copyOut } from '../../database/copy-out.js';
import type { DedicatedConnections } from '../../database/dedicated-connections.js';
import { PostgresFailure } from '../../database/failure.js';
import type { AnyReadModel } from '../read-model.js';
import { Folding } from '../replay/replay.js';
import type { RowEncoder } from '../replay/row-encoder.js';
import { RowWriter } from '../replay/row-writer.js';
import { BY_INDEX, EVENTS_OF_GAP, openGap } from './catch-up.js';
import type { KnownStreams } from './known-streams.js';
import type { RebuildLock } from './rebuild-lock.js';
import { shapesOf, writeAll } from './shadow.js';
import { isSameShape, REPLACED, RebuildError, SHADOWS, type TableShape } from './table-shape.js';

/** Events to fold that fit into a swap: its pause is what others wait. */
export const MAX_EVENTS_IN_SWAP = 500;
/** The swap waits this long for statements under way, and everyone who comes after waits for the swap. */
const LOCK_TIMEOUT_MS = 15;
const MAX_LOCK_TIMEOUT_MS = 40;
/** Nobody who reads or writes waits for the lock that keeps migrations away; an autovacuum gives way to it after a second. */
const DEFINITION_LOCK_TIMEOUT = '3s';
/** A swap whose client is frozen or cut off must not hold the tables. */
const SWAP_TIMEOUT = '5s';

/** A read model whose shadows are filled. */
interface Shadowed {
  readonly model: AnyReadModel;
  readonly shapes: readonly TableShape[];
  readonly encoders: readonly RowEncoder[];
  readonly known: KnownStreams;
}

/** The one transaction that puts the shadows of a read model in the place of its live tables. */
export class Swap {
  /** The longest that anybody can have waited for the tables: from when an attempt asked for their locks to its end. */
  longestPauseMs = 0;
  private readonly live: readonly string[];

  constructor(
    private readonly connections: DedicatedConnections,
    private readonly turn: RebuildLock,
    private readonly shadowed: Shadowed,
  ) {
    this.live = shadowed.model.tables.map(({ name }, i) => `"${shadowed.shapes[i]?.schema}".${name}`);
  }

  /** False when it could not be done without making others wait. `catchUp` is called as late as can be. */
  async try(attempt: number, catchUp: () => Promise<unknown>): Promise<boolean> {
    const client = await this.connections.open();
    let askedMs: number | undefined;
    try {
      await this.keepDefinition(client);
      await catchUp();
      askedMs = performance.now();
      return await this.exchange(client, attempt);
    } catch (error) {
      const failure = PostgresFailure.of(error);
      if (failure.isLockHeld || failure.isDeadlock) return false;
      throw error;
    } finally {
      if (askedMs !== undefined) this.longestPauseMs = Math.max(this.longestPauseMs, performance.now() - askedMs);
      await client.end();
    }
  }

  private async keepDefinition(client: Client): Promise<void> {
    const { model, shapes } = this.shadowed;
    await this.connections.begin(client);
    await this.turn.hold(client);
    await client.query(`set local lock_timeout = '${DEFINITION_LOCK_TIMEOUT}'; ${BY_INDEX};
      lock table ${this.live.join(', ')} in share update exclusive mode`);
    const now = await shapesOf(client, model);
    if (now.every((shape, i) => isSameShape(shape, shapes[i]))) return;
    const tables = model.tables.map(({ name }) => name).join(', ');
    throw new RebuildError(`${tables}: the definition changed meanwhile (a migration?); run it again`);
  }

  /**
   * Its commit does not wait for the disk, nor for standbys, while everyone waits for it. Whoever sees the swap commits after
   * it in the same log, so what they write is never there without it; the run ends with a commit that waits for both.
   *
   * The tables are locked before anything else. An append holds its tables' locks first and waits for the account's head
   * then: whoever took the head first and the tables after it would deadlock with every append that waits.
   */
  private async exchange(client: Client, attempt: number): Promise<boolean> {
    const lockTimeoutMs = Math.min(LOCK_TIMEOUT_MS + 5 * (attempt - 1), MAX_LOCK_TIMEOUT_MS);
    await client.query(`set local lock_timeout = ${lockTimeoutMs}; set local statement_timeout = '${SWAP_TIMEOUT}';
      set local idle_in_transaction_session_timeout = '${SWAP_TIMEOUT}'; set local synchronous_commit = off;
      lock table ${this.live.join(', ')} in access exclusive mode`);
    if (!(await this.catchUpLocked(client))) {
      await client.query('rollback');
      return false;
    }
    await client.query(`${this.exchanging().join('; ')}; commit`);
    return true;
  }

  /** Brings the shadows to where the log is, on the one connection that holds the locks. */
  private async catchUpLocked(client: Client): Promise<boolean> {
    const { model, encoders, known } = this.shadowed;
    const lag = await openGap(client, model);
    if (lag.toFold > MAX_EVENTS_IN_SWAP) return false;
    if (lag.events === 0) return true;
    const folding = new Folding(model, known.entityOf);
    const streams = [];
    for await (const rows of copyOut(client, EVENTS_OF_GAP)) streams.push(folding.take(rows));
    await writeAll([...streams, folding.end()], new RowWriter(client, encoders, SHADOWS));
    return true;
  }

  private exchanging(): string[] {
    const { model, shapes } = this.shadowed;
    return model.tables.flatMap(({ name }, i) => [
      `alter table ${this.live[i]} set schema ${REPLACED}`,
      `alter table ${SHADOWS}.${name} set schema "${shapes[i]?.schema}"`,
      ...(shapes[i]?.guard ?? []),
    ]);
  }
}
