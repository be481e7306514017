import { setTimeout as sleep } from 'node:timers/promises';
import type { PoolClient, QueryResultRow } from 'pg';
import { KeyedQueue } from '../instance/keyed-queue.js';
import { Problem } from '../problem.js';
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
 * The settings are the transaction's, since a pooler reuses the connection afterwards. The server ends a statement at the
 * deadline, and when its connection is closed, which it can notice on Linux.
 */
const beginRead = (deadlineMs: number): string => `begin read only; select require_primary();
  set local statement_timeout = ${deadlineMs};
  select set_config('client_connection_check_interval', '${CHECK_CONNECTION_EVERY_MS}', true) where version() like '%linux%'`;

/**
 * Runs the reads that can cost much, such as feeds, histories, `as_of` and lists of decisions. They have a few
 * connections of their own, an account gets half of them at most, and each read has a deadline. So they never delay a
 * write, a read of current state or a gateway, and one account never delays another.
 */
export class AuditReads {
  /** Is told how long each read waited for its turn. There are as many turns as connections. */
  onWaited: ((waitMs: number) => void) | undefined;
  /** What waits here leaves the queue of all to the other accounts. */
  private readonly ofAccount: KeyedQueue;
  /** The pool's own queue would end a wait with the time for a connection, and keep who gave up. */
  private readonly ofAll: KeyedQueue;

  constructor(
    private readonly pool: PrimaryPool,
    private readonly deadlineMs: number,
  ) {
    const { max } = pool.options;
    this.ofAccount = new KeyedQueue(Math.ceil(max / 2));
    this.ofAll = new KeyedQueue(max);
  }

  /** Reads that wait for their turn. */
  get waiting(): number {
    return this.ofAccount.waiting + this.ofAll.waiting;
  }

  /** Throws Problem 429 or 503 if too many reads wait already, and 503 at the deadline, which includes the wait. */
  async run<T>(reader: Reader, work: (connections: Connections) => Promise<T>): Promise<T> {
    try {
      this.refuseIfFull(reader.accountId);
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
      return await this.inTurn(accountId, () => this.read(work, ending.signal), ending.signal);
    } finally {
      clearTimeout(deadline);
      signal.removeEventListener('abort', leave);
    }
  }

  private refuseIfFull(accountId: string): void {
    const waiting = this.ofAccount.waitingOf(accountId);
    if (waiting >= MAX_WAITING_PER_ACCOUNT) {
      const message = `The account already has ${waiting} audit reads waiting on this instance; send fewer at once.`;
      throw new Problem('too_many_requests', message);
    }
    if (this.waiting >= MAX_WAITING) {
      throw new Problem('overloaded', 'Too many audit reads are waiting. Try again shortly.');
    }
  }

  /** The wait of a read that ended before its turn counts too. */
  private async inTurn<T>(accountId: string, work: () => Promise<T>, signal: AbortSignal): Promise<T> {
    const arrivedAt = performance.now();
    let begunAt: number | undefined;
    const begin = (): Promise<T> => {
      begunAt = performance.now();
      return work();
    };
    try {
      return await this.ofAccount.run(accountId, () => this.ofAll.run('all', begin, signal), signal);
    } finally {
      this.onWaited?.((begunAt ?? performance.now()) - arrivedAt);
    }
  }

  /** A connection whose transaction did not end is closed, which also ends its statement on the server. */
  private async read<T>(work: (connections: Connections) => Promise<T>, signal: AbortSignal): Promise<T> {
    const client = await this.connect(signal);
    let isIdle = false;
    const inTransaction = async (): Promise<T> => {
      await client.query(beginRead(this.deadlineMs)).catch(rethrow(true));
      try {
        return await work(transactionOn(client));
      } finally {
        await client.query('rollback').catch(rethrow(true));
        isIdle = true;
      }
    };
    try {
      return await Promise.race([inTransaction(), abortOf(signal)]);
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
}

const transactionOn = (client: PoolClient): Transaction => ({
  run: <R extends QueryResultRow>(statement: NamedStatement, values: readonly unknown[]) =>
    send<R>(client, statement, values).catch(rethrow(true)),
});

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
