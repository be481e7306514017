import { setTimeout as sleep } from 'node:timers/promises';
import type { PoolClient, QueryResultRow } from 'pg';
import { LimitedWork } from '../kernel/limited-work.js';
import { Problem } from '../kernel/problem.js';
import type { PrimaryPool } from './primary-pool.js';
import {
  asUnreachable,
  type Connections,
  connectUnless,
  type NamedStatement,
  send,
  type Transaction,
} from './query.js';

/** The account and the client that a read runs for. */
export interface Reader {
  readonly accountId: string;
  /** Aborts when the client goes away. The read then ends, on the database server too. */
  readonly signal: AbortSignal;
}

/** How many reads may wait for a connection. Each holds a few kilobytes and an open socket. */
const MAX_WAITING_PER_ACCOUNT = 100;
const MAX_WAITING = 1_000;
/** A refusal is delayed by this time. Its Retry-After is the same. */
const REFUSE_AFTER_MS = 1_000;
/** How soon the server notices that the connection of a running statement is closed. */
const CHECK_CONNECTION_EVERY_MS = 250;

/**
 * Read committed, because a statement must see all events up to a position that was looked up after `begin`. The
 * settings are local to the transaction, because a pooler reuses the connection. The server ends a statement at the
 * deadline, and on Linux also when the connection is closed.
 */
const beginRead = (deadlineMs: number): string => `begin isolation level read committed read only;
  select require_primary();
  set local statement_timeout = ${deadlineMs};
  select set_config('client_connection_check_interval', '${CHECK_CONNECTION_EVERY_MS}', true) where version() like '%linux%'`;

/**
 * Runs the reads that can be long, such as feeds, histories, `as_of` and lists of decisions. They have their own few
 * connections, an account gets half of them at most, and each read has a deadline. So they never block writes, reads of
 * current state or gateways, and one account never blocks another.
 */
export class AuditReads {
  /** Gets how long each read waited for its place. There are as many places as connections. */
  onWaited: ((waitMs: number) => void) | undefined;
  /** The pool's own queue will not do: it has another time limit, and keeps callers who have left. */
  private readonly reads: LimitedWork;

  constructor(
    private readonly pool: PrimaryPool,
    private readonly deadlineMs: number,
  ) {
    const { max } = pool.options;
    this.reads = new LimitedWork({
      noun: 'audit reads',
      atOnce: max,
      atOnceOfAccount: Math.ceil(max / 2),
      waiting: MAX_WAITING,
      waitingOfAccount: MAX_WAITING_PER_ACCOUNT,
    });
  }

  /** Reads that wait for their place. */
  get waiting(): number {
    return this.reads.waiting;
  }

  /**
   * Runs a read when it has a place. Throws Problem 429 or 503 if too many reads wait, and 503 at the deadline, which includes
   * the wait.
   */
  async run<T>(reader: Reader, work: (connections: Connections) => Promise<T>): Promise<T> {
    try {
      this.reads.refuseIfFull(reader.accountId);
    } catch (refusal) {
      return refuseLater(refusal, reader.signal);
    }
    return this.runAdmitted(reader, work);
  }

  /** Runs the next part of a stream that has begun. It is never refused for too many waiting reads. */
  async runAdmitted<T>({ accountId, signal }: Reader, work: (connections: Connections) => Promise<T>): Promise<T> {
    const ending = new AbortController();
    const leave = (): void => ending.abort(new Problem('overloaded', 'The client closed the connection.'));
    const deadline = setTimeout(() => ending.abort(tooLong(this.deadlineMs)), this.deadlineMs);
    signal.addEventListener('abort', leave);
    if (signal.aborted) leave();
    try {
      return await this.takePlace(accountId, () => this.read(work, ending.signal), ending.signal);
    } finally {
      clearTimeout(deadline);
      signal.removeEventListener('abort', leave);
    }
  }

  /** Also reports the wait of a read that ended before it had a place. */
  private async takePlace<T>(accountId: string, work: () => Promise<T>, signal: AbortSignal): Promise<T> {
    const arrivedAt = performance.now();
    let begunAt: number | undefined;
    const begin = (): Promise<T> => {
      begunAt = performance.now();
      return work();
    };
    try {
      return await this.reads.run(accountId, begin, signal);
    } finally {
      this.onWaited?.((begunAt ?? performance.now()) - arrivedAt);
    }
  }

  /** Closes the connection if its transaction has not ended, which also ends its statement on the server. */
  private async read<T>(work: (connections: Connections) => Promise<T>, signal: AbortSignal): Promise<T> {
    const client = await connectUnless(abortOf(signal), this.pool);
    let isIdle = false;
    const ended = (): void => {
      isIdle = true;
    };
    try {
      return await Promise.race([inReadTransaction(client, this.deadlineMs, work, ended), abortOf(signal)]);
    } finally {
      client.release(!isIdle);
    }
  }
}

/** `ended` is called when the transaction has ended, also if the work failed. */
async function inReadTransaction<T>(
  client: PoolClient,
  deadlineMs: number,
  work: (connections: Connections) => Promise<T>,
  ended: () => void,
): Promise<T> {
  await client.query(beginRead(deadlineMs)).catch(rethrowSent);
  try {
    return await work(transactionOn(client));
  } finally {
    await client.query('rollback').catch(rethrowSent);
    ended();
  }
}

const transactionOn = (client: PoolClient): Transaction => ({
  run: <R extends QueryResultRow>(statement: NamedStatement, values: readonly unknown[]) =>
    send<R>(client, statement, values).catch(rethrowSent),
});

/** Throws the refusal after a pause, to slow down a client that asks again at once. */
export async function refuseLater(refusal: unknown, signal: AbortSignal): Promise<never> {
  await sleep(REFUSE_AFTER_MS, undefined, { signal }).catch(() => undefined);
  throw refusal;
}

const rethrowSent = (error: unknown): never => {
  throw asUnreachable(error, true);
};

const tooLong = (deadlineMs: number): Problem =>
  new Problem('overloaded', `The request took longer than ${deadlineMs} ms. Ask for less, or try again later.`);

const abortOf = (signal: AbortSignal): Promise<never> =>
  new Promise((_, reject) => {
    const abort = (): void => reject(signal.reason);
    if (signal.aborted) abort();
    signal.addEventListener('abort', abort, { once: true });
  });
