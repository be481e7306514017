import { setTimeout as sleep } from 'node:timers/promises';
import type { PoolClient, QueryResultRow } from 'pg';
import { Problem } from '../problem.js';
import { FairTurns } from './fair-turns.js';
import type { PrimaryPool } from './primary-pool.js';
import { type Connections, type NamedStatement, send, type Transaction, unreachable } from './query.js';

/** On whose behalf a read runs. */
export interface Reader {
  readonly accountId: string;
  /** Aborts when the client goes away; the read then ends, on the server too. */
  readonly signal: AbortSignal;
}

/** Reads that wait for a connection. Each costs a few kilobytes and an open socket. */
const MAX_WAITING_PER_ACCOUNT = 100;
const MAX_WAITING = 1_000;
/** A refusal comes after this time, which is also its Retry-After. */
const REFUSE_AFTER_MS = 1_000;
/** How soon the server notices that the connection of a running statement is closed. */
const CHECK_CONNECTION_EVERY_MS = 250;

/**
 * Settings of the transaction, since a pooler reuses the connection afterwards. The server ends a statement at the
 * deadline, and when its connection is closed, which it can notice on Linux. The others force look-ups by index: a
 * plan made while the log was small would scan the grown one.
 */
const beginRead = (deadlineMs: number): string => `begin read only; select require_primary();
  select set_config(name, setting, true) from (values ('statement_timeout', '${deadlineMs}'),
    ('enable_seqscan', 'off'), ('enable_hashjoin', 'off'), ('enable_mergejoin', 'off'), ('jit', 'off')) wanted(name, setting);
  select set_config('client_connection_check_interval', '${CHECK_CONNECTION_EVERY_MS}', true) where version() like '%linux%'`;

/**
 * Runs the reads that can cost much, such as feeds, histories, `as_of` and lists of decisions. They have a few
 * connections of their own, an account gets half of them at most, and each read has a deadline. So they never delay a
 * write, a read of current state or a gateway, and one account never delays another.
 */
export class AuditReads {
  /** Is told how long each read waited for its turn. There are as many turns as connections, so none waits for those. */
  onWaited: ((waitMs: number) => void) | undefined;
  private readonly turns: FairTurns;

  constructor(
    private readonly pool: PrimaryPool,
    private readonly deadlineMs: number,
  ) {
    const running = pool.options.max;
    this.turns = new FairTurns({
      running,
      runningPerAccount: Math.ceil(running / 2),
      waiting: MAX_WAITING,
      waitingPerAccount: MAX_WAITING_PER_ACCOUNT,
    });
  }

  /** Reads that wait for their turn. */
  get waiting(): number {
    return this.turns.queued;
  }

  /** Throws Problem 429 or 503 if too many reads wait already, and 503 at the deadline, which includes the wait. */
  async run<T>(reader: Reader, work: (connections: Connections) => Promise<T>): Promise<T> {
    try {
      this.turns.refuseIfFull(reader.accountId);
    } catch (refusal) {
      return refuseLater(refusal, reader.signal);
    }
    return this.runAdmitted(reader, work);
  }

  /** The same for the next part of a stream that has begun: it waits instead of being refused. */
  async runAdmitted<T>({ accountId, signal }: Reader, work: (connections: Connections) => Promise<T>): Promise<T> {
    const ending = new AbortController();
    const leave = (): void => ending.abort(new Problem('overloaded', 'The client closed the connection.'));
    const deadline = setTimeout(() => ending.abort(tooLong(this.deadlineMs)), this.deadlineMs);
    signal.addEventListener('abort', leave);
    if (signal.aborted) leave();
    try {
      await this.turn(accountId, ending.signal);
      return await this.read(work, ending.signal).finally(() => this.turns.end(accountId));
    } finally {
      clearTimeout(deadline);
      signal.removeEventListener('abort', leave);
    }
  }

  private async turn(accountId: string, signal: AbortSignal): Promise<void> {
    const startedAt = performance.now();
    try {
      await this.turns.begin(accountId, signal);
    } finally {
      this.onWaited?.(performance.now() - startedAt);
    }
  }

  /** A connection whose transaction did not end is closed, which also ends its statement on the server. */
  private async read<T>(work: (connections: Connections) => Promise<T>, signal: AbortSignal): Promise<T> {
    const client = await this.connect(signal);
    let isIdle = false;
    const reading = this.inTransaction(client, work).then((end) => {
      isIdle = true;
      return end();
    });
    try {
      return await Promise.race([reading, abortOf(signal)]);
    } finally {
      client.release(!isIdle);
    }
  }

  /** A connection that comes too late goes back to the pool. */
  private async connect(signal: AbortSignal): Promise<PoolClient> {
    const connecting = this.pool.connect();
    try {
      return await Promise.race([connecting.catch(rethrow(false)), abortOf(signal)]);
    } catch (error) {
      connecting.then(
        (late) => late.release(),
        () => undefined,
      );
      throw error;
    }
  }

  /** Resolves when the transaction has ended, with a function that returns or throws what the work did. */
  private async inTransaction<T>(client: PoolClient, work: (connections: Connections) => Promise<T>): Promise<() => T> {
    await client.query(beginRead(this.deadlineMs)).catch(rethrow(true));
    const run: Transaction['run'] = <R extends QueryResultRow>(statement: NamedStatement, values: readonly unknown[]) =>
      send<R>(client, statement, values).catch(rethrow(true));
    const end = await work({ run }).then(
      (result) => () => result,
      (error: unknown) => () => {
        throw error;
      },
    );
    await client.query('rollback').catch(rethrow(true));
    return end;
  }
}

/** A client that asks again at once, on each of a thousand connections, would keep the service busy refusing. */
export async function refuseLater(refusal: unknown, signal: AbortSignal): Promise<never> {
  await sleep(REFUSE_AFTER_MS, undefined, { signal }).catch(() => undefined);
  throw refusal;
}

const rethrow =
  (wasSent: boolean) =>
  (error: unknown): never => {
    throw unreachable(error, wasSent);
  };

const tooLong = (deadlineMs: number): Problem =>
  new Problem('overloaded', `The request took longer than ${deadlineMs} ms. Ask for less, or try again later.`);

const abortOf = (signal: AbortSignal): Promise<never> =>
  new Promise((_, reject) => {
    const abort = (): void => reject(signal.reason);
    if (signal.aborted) abort();
    signal.addEventListener('abort', abort, { once: true });
  });
