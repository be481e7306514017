import { DatabaseError, type Pool, type PoolClient, type QueryResult, type QueryResultRow } from 'pg';
import { DatabaseUnreachable, PostgresFailure } from './failure.js';

/** A prepared statement: PostgreSQL parses and plans `text` once per connection under `name`. */
export interface NamedStatement {
  readonly name: string;
  readonly text: string;
}

/** A pool, or the one connection of a transaction. */
export type Connections = Pool | Transaction;
/** The connection of a transaction, which has its own time limit. */
export interface Transaction {
  readonly run: <R extends QueryResultRow>(
    statement: NamedStatement,
    values: readonly unknown[],
  ) => Promise<QueryResult<R>>;
}

export interface StatementLimits {
  /** Bounds the whole call: the wait for a connection, every attempt, and the answer. */
  readonly deadlineMs: number;
  /** How often a statement may be sent if the connection is lost. More than 1 only where a repetition does no harm. */
  readonly attempts: number;
}

/** A pool with a listener, which gets how long each statement waited for its connection or for the failure. */
export interface WatchedPool extends Pool {
  onWaited: ((waitMs: number) => void) | undefined;
}

/** What the clients of the service's own pools know. Clients of other pools lack it. */
export interface CheckedClient {
  /** The server answered that a commit succeeded although no standby confirmed it. */
  readonly hasUnconfirmedCommit: boolean;
  /** False if a pooler gives each statement to another session. */
  readonly preparesStatements: boolean;
}

/** A request is answered within 3 s, even if the server is silent. */
const READ_LIMITS: StatementLimits = { deadlineMs: 2_700, attempts: 2 };

/**
 * Makes a statement that finds events of account $1 and, if it finds any, also commits a write to the account's head.
 * After a crash or a failover an event can be visible that no standby has. The commit waits for the standbys, and thus
 * for all earlier commits too, so the events that the statement returns are durable.
 */
export const durably = (name: string, find: string): NamedStatement => ({
  name,
  text: `with found as materialized (${find}),
    confirmed as (update log_heads set size = size where account_id = $1 and exists (select from found))
    select * from found`,
});

/** Limits of a write that is sent once: its caller decides whether to repeat it. A commit may wait for a standby. */
export const WRITE_LIMITS: StatementLimits = { deadlineMs: 10_000, attempts: 1 };
/** Limits of a statement such as those of `durably`, which may be sent again, since it changes nothing. */
export const durableLimits = (deadline = Number.POSITIVE_INFINITY): StatementLimits => ({
  ...WRITE_LIMITS,
  deadlineMs: Math.min(WRITE_LIMITS.deadlineMs, deadline - performance.now()),
  attempts: 3,
});

/**
 * Runs a named statement on a pooled connection. Unlike with `pool.query` the connection stays open after an error that
 * the server reported.
 */
export async function queryNamed<R extends QueryResultRow>(
  connections: Connections,
  statement: NamedStatement,
  values: readonly unknown[],
  { deadlineMs, attempts }: StatementLimits = READ_LIMITS,
): Promise<QueryResult<R>> {
  if ('run' in connections) return connections.run(statement, values);
  const deadline = performance.now() + deadlineMs;
  for (let attempt = 1; ; attempt += 1) {
    const client = await connectBefore(deadline, connections);
    try {
      return await runOn<R>(client, statement, values, deadline);
    } catch (error) {
      const isLast = attempt === attempts || performance.now() >= deadline;
      if (isLast || !PostgresFailure.of(error).isConnectionLoss) throw error;
    }
  }
}

/** Runs the statements of `work` in one transaction with one deadline, and commits it unless `work` fails. */
export async function inTransaction<T>(
  pool: Pool,
  work: (transaction: Transaction) => Promise<T>,
  { deadlineMs }: Pick<StatementLimits, 'deadlineMs'> = WRITE_LIMITS,
): Promise<T> {
  const deadline = performance.now() + deadlineMs;
  const client = await connectBefore(deadline, pool);
  const timer = setTimeout(() => void client.end(), deadline - performance.now());
  const rethrow = (error: unknown): never => {
    throw asUnreachable(error, true);
  };
  try {
    await client.query('begin').catch(rethrow);
    const result = await work({ run: (statement, values) => send(client, statement, values).catch(rethrow) as never });
    await client.query('commit').catch(rethrow);
    if (isChecked(client) && client.hasUnconfirmedCommit)
      throw new DatabaseUnreachable('no standby has confirmed the commit');
    client.release();
    return result;
  } catch (error) {
    if (isChecked(client) && client.hasUnconfirmedCommit) client.release(true);
    else
      await client.query('rollback').then(
        () => client.release(),
        () => client.release(true),
      );
    throw error;
  } finally {
    clearTimeout(timer);
  }
}

/** The row of a select without a table. */
export function onlyRow<Row>([row]: readonly Row[]): Row {
  if (row === undefined) throw new RangeError('a select without a table has one row');
  return row;
}

/**
 * Makes a standby refuse the statement. A pooler may move a checked connection to another server, so every statement
 * whose answer permits something needs this.
 */
export const onPrimary = ({ name, text }: NamedStatement): NamedStatement => ({
  name,
  text: `select answer.* from (${text}) answer where require_primary()`,
});

async function connectBefore(deadline: number, pool: Pool): Promise<PoolClient> {
  let timer: NodeJS.Timeout | undefined;
  const tooLate = new Promise<never>((_, reject) => {
    const giveUp = (): void => reject(new DatabaseUnreachable('there was no connection before the deadline'));
    timer = setTimeout(giveUp, deadline - performance.now());
  });
  try {
    return await connectUnless(tooLate, pool);
  } finally {
    clearTimeout(timer);
  }
}

/** Rejects with the error of `givenUp` if that rejects first. A client that comes later goes back to the pool. */
export async function connectUnless(givenUp: Promise<never>, pool: Pool): Promise<PoolClient> {
  const connecting = connectWatched(pool);
  try {
    return await Promise.race([connecting, givenUp]);
  } catch (error) {
    connecting.then(
      (late) => late.release(),
      () => undefined,
    );
    throw error;
  }
}

async function connectWatched(pool: Pool): Promise<PoolClient> {
  const startedAt = performance.now();
  try {
    return await pool.connect();
  } catch (error) {
    throw asUnreachable(error, false);
  } finally {
    if (isWatched(pool)) pool.onWaited?.(performance.now() - startedAt);
  }
}

/** Sends a statement. It leaves out the name if a pooler may give the next statement to another session. */
export function send<R extends QueryResultRow>(
  client: PoolClient,
  statement: NamedStatement,
  values: readonly unknown[],
): Promise<QueryResult<R>> {
  const isNamed = !isChecked(client) || client.preparesStatements;
  const { name, text } = statement;
  return client.query<R>(isNamed ? { name, text, values: [...values] } : { text, values: [...values] });
}

/** Ends the connection at the deadline, because the statement still runs on it. */
async function runOn<R extends QueryResultRow>(
  client: PoolClient,
  statement: NamedStatement,
  values: readonly unknown[],
  deadline: number,
): Promise<QueryResult<R>> {
  let givenUp: Error | undefined;
  const timer = setTimeout(() => {
    givenUp = new Error('the server did not answer before the deadline');
    void client.end();
  }, deadline - performance.now());
  try {
    const result = await send<R>(client, statement, values);
    if (isChecked(client) && client.hasUnconfirmedCommit) throw new Error('no standby has confirmed the commit');
    client.release();
    return result;
  } catch (error) {
    const reported = asUnreachable(givenUp ?? error, true);
    const isLost = PostgresFailure.of(reported).isConnectionLoss;
    client.release(!isLost && error instanceof DatabaseError && error.severity === 'ERROR' ? undefined : true);
    throw reported;
  } finally {
    clearTimeout(timer);
  }
}

const isWatched = (pool: Pool): pool is WatchedPool => 'onWaited' in pool;
const isChecked = (client: PoolClient): client is PoolClient & CheckedClient => 'preparesStatements' in client;

/**
 * The error of a failed connection or statement: DatabaseUnreachable, unless the server reported it or it is a bug
 * here.
 */
export function asUnreachable(error: unknown, wasSent: boolean): unknown {
  // The server's own error says more, and a bug of this process must not look like a network failure.
  if (error instanceof DatabaseError || error instanceof TypeError || error instanceof RangeError) return error;
  if (error instanceof DatabaseUnreachable && error.wasSent === wasSent) return error;
  return new DatabaseUnreachable(error instanceof Error ? error.message : String(error), { cause: error, wasSent });
}
