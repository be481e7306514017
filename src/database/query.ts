import { DatabaseError, type Pool, type PoolClient, type QueryResult, type QueryResultRow } from 'pg';
import { DatabaseUnreachable, PostgresFailure } from './failure.js';

/** A prepared statement: PostgreSQL parses and plans `text` once per connection under `name`. */
export interface NamedStatement {
  readonly name: string;
  readonly text: string;
}

/** A pool, or the one connection of a transaction, which has limits of its own. */
export type Connections = Pool | Transaction;
export interface Transaction {
  readonly run: <R extends QueryResultRow>(
    statement: NamedStatement,
    values: readonly unknown[],
  ) => Promise<QueryResult<R>>;
}

export interface StatementLimits {
  /** Bounds the whole call: the wait for a connection, every attempt, and the answer. */
  readonly deadlineMs: number;
  /** A server that answered no statement at all in this time counts as lost. */
  readonly silenceMs: number;
  /** How often a statement is sent if the connection is lost. More than once only if a repetition does no harm. */
  readonly attempts: number;
  /** Only a primary may answer. A standby refuses statements that write without being told. */
  readonly isRead?: true;
}

/** A client of the service's own pools, which knows its server. Clients of other pools have none of it. */
export interface WatchedClient {
  readonly server: ServerState;
  /** The server answered that a commit succeeded although no standby confirmed it. */
  readonly hasUnconfirmedCommit: boolean;
  /** Bytes that the server has sent. */
  readonly bytesRead: number;
  /** False if a pooler gives each statement to another session. */
  readonly preparesStatements: boolean;
  /** After a lost connection or a silent server: no other connection to the server is used without a new check. */
  suspectServer(): void;
}

interface ServerState {
  answered(): void;
  hasAnsweredSince(time: number): boolean;
}

/** A request is answered within 3 s, even if the first server falls silent while it holds the statement. */
const READ_LIMITS: StatementLimits = { deadlineMs: 2_700, silenceMs: 1_200, attempts: 2, isRead: true };

/**
 * Makes a statement that finds events of account $1 and, if there are any, commits a write to the account's head after
 * them on the same server.
 * After a crash or a failover an event can be visible that no standby has. The commit waits for the standbys like any
 * other, and so for everything before it: what the statement answers is as durable as the server's settings promise.
 */
export const durably = (name: string, find: string): NamedStatement => ({
  name,
  text: `with found as materialized (${find}),
    confirmed as (update log_heads set size = size where account_id = $1 and exists (select from found))
    select * from found`,
});

/**
 * A parameter whose value the planner does not see. PostgreSQL expects ten elements of an array that it does not know. If it
 * saw an array of one, that plan would look cheaper than the plan for any array, so it would plan at each execution, which
 * takes several times as long as the look-up itself.
 */
export const unseen = (parameter: string, type: string): string => `(select ${parameter}::${type})::${type}`;

/** For writes whose caller repeats them. A commit may wait for a standby. */
export const WRITE_LIMITS: StatementLimits = { deadlineMs: 10_000, silenceMs: 5_000, attempts: 1 };
/** For `durably` and its like, which may be sent again, since they change nothing. */
export const durableLimits = (deadline = Number.POSITIVE_INFINITY): StatementLimits => ({
  ...WRITE_LIMITS,
  deadlineMs: Math.min(WRITE_LIMITS.deadlineMs, deadline - performance.now()),
  attempts: 3,
});

/**
 * Runs a named statement on a pooled connection, and keeps the connection after an error that the server reported.
 * `pool.query` would close it after any error, and a new connection makes the next query take 7 ms instead of 1.
 */
export async function queryNamed<R extends QueryResultRow>(
  connections: Connections,
  statement: NamedStatement,
  values: readonly unknown[],
  { deadlineMs, silenceMs, attempts, isRead }: StatementLimits = READ_LIMITS,
): Promise<QueryResult<R>> {
  if ('run' in connections) return connections.run(statement, values);
  const sent = isRead === true && !readsOnly(connections) ? onPrimary(statement) : statement;
  const deadline = performance.now() + deadlineMs;
  for (let attempt = 1; ; attempt += 1) {
    const client = await connectBefore(deadline, connections);
    try {
      return await runOn<R>(client, sent, values, new StatementWatch(client, silenceMs, deadline));
    } catch (error) {
      const isLast = attempt === attempts || performance.now() >= deadline;
      if (isLast || !PostgresFailure.of(error).isConnectionLoss) throw error;
    }
  }
}

/**
 * The rows of a named statement, as JSON: it has no type for times, so they arrive as text. pg takes longer to describe and
 * read the columns of one row than to parse one text with all rows.
 */
export async function queryJson<Row extends object>(
  connections: Connections,
  statement: NamedStatement,
  values: readonly unknown[],
  limits?: StatementLimits,
): Promise<readonly Row[]> {
  const { rows } = await queryNamed<{ all: readonly Row[] }>(connections, asJson(statement), values, limits);
  return rows[0]?.all ?? [];
}

/** The row of a select without a table. */
export function onlyRow<Row>([row]: readonly Row[]): Row {
  if (row === undefined) throw new RangeError('a select without a table has one row');
  return row;
}

/** Makes another statement of each, once. */
function derived(textOf: (text: string) => string): (statement: NamedStatement) => NamedStatement {
  const made = new WeakMap<NamedStatement, NamedStatement>();
  return (statement) => {
    const known = made.get(statement);
    if (known !== undefined) return known;
    const other = { name: statement.name, text: textOf(statement.text) };
    made.set(statement, other);
    return other;
  };
}

const asJson = derived((text) => `select coalesce(json_agg(one), '[]') as all from (${text}) one`);

/** A pool of an operator who only reads, to whom a standby will do. */
const readsOnly = (pool: Pool): boolean => 'readsOnly' in pool && pool.readsOnly === true;

/** The same statement, which a standby refuses. Migration 0011 tells why each statement asks. */
const onPrimary = derived((text) => `select answer.* from (${text}) answer where require_primary()`);

/** Gives a client that comes too late back to the pool. */
const connectBefore = (deadline: number, pool: Pool): Promise<PoolClient> =>
  new Promise((resolve, reject) => {
    let isLate = false;
    const giveUp = (): void => {
      isLate = true;
      reject(new DatabaseUnreachable('there was no connection before the deadline'));
    };
    const timer = setTimeout(giveUp, deadline - performance.now());
    pool.connect().then(
      (client) => {
        clearTimeout(timer);
        if (isLate) client.release();
        else resolve(client);
      },
      (error) => {
        clearTimeout(timer);
        reject(unreachable(error, false));
      },
    );
  });

/** Sends the name too, unless a pooler may give the next statement to another session. */
export function send<R extends QueryResultRow>(
  client: PoolClient,
  statement: NamedStatement,
  values: readonly unknown[],
): Promise<QueryResult<R>> {
  const isNamed = !isWatched(client) || client.preparesStatements;
  return client.query<R>(isNamed ? inheriting(statement) : { text: statement.text }, [...values]);
}

/**
 * pg copies the own properties of what it is asked, by their descriptors, which took a quarter of node's time for a look-up.
 * This object has none: it inherits them from one object for each text, since V8 is slow with new prototypes too.
 */
function inheriting({ name, text }: NamedStatement): NamedStatement {
  const prototype = PROTOTYPES.get(text) ?? { name, text };
  PROTOTYPES.set(text, prototype);
  return Object.create(prototype);
}
const PROTOTYPES = new Map<string, NamedStatement>();

async function runOn<R extends QueryResultRow>(
  client: PoolClient,
  statement: NamedStatement,
  values: readonly unknown[],
  watch: StatementWatch,
): Promise<QueryResult<R>> {
  try {
    const result = await send<R>(client, statement, values);
    watch.answered();
    client.release();
    return result;
  } catch (error) {
    const reported = unreachable(watch.givenUp ?? error, true);
    const isLost = PostgresFailure.of(reported).isConnectionLoss;
    watch.failed(isLost);
    client.release(!isLost && error instanceof DatabaseError && error.severity === 'ERROR' ? undefined : true);
    throw reported;
  } finally {
    watch.end();
  }
}

/** Ends the connection of a statement at its deadline, or earlier if the server is silent. */
class StatementWatch {
  /** Why the connection was ended. */
  givenUp: Error | undefined;
  private readonly watched: WatchedClient | undefined;
  private readonly sentAt = performance.now();
  private timer: NodeJS.Timeout;
  private bytesRead: number;
  private hasEnded = false;

  constructor(
    private readonly client: PoolClient,
    private readonly silenceMs: number,
    private readonly deadline: number,
  ) {
    this.watched = isWatched(client) ? client : undefined;
    this.bytesRead = this.watched?.bytesRead ?? 0;
    this.timer = this.lookAgain(this.sentAt);
  }

  /** Throws if the server answered success although it cancelled the wait for a standby. */
  answered(): void {
    this.watched?.server.answered();
    if (this.watched?.hasUnconfirmedCommit === true) throw new Error('no standby has confirmed the commit');
  }

  failed(isLost: boolean): void {
    if (!isLost) this.watched?.server.answered();
    else if (this.givenUp === undefined) this.watched?.suspectServer();
  }

  end(): void {
    this.hasEnded = true;
    clearTimeout(this.timer);
  }

  /** After a pause of this process, answers wait in the socket. They are read before the look. */
  private lookAgain(now: number): NodeJS.Timeout {
    return setTimeout(() => setImmediate(() => this.look()), Math.min(this.silenceMs, this.deadline - now));
  }

  private look(): void {
    if (this.hasEnded) return;
    const now = performance.now();
    const { bytesRead = 0 } = this.watched ?? {};
    // A long answer takes its time on a slow network.
    if (bytesRead > this.bytesRead) this.watched?.server.answered();
    this.bytesRead = bytesRead;
    const isSilent = this.watched?.server.hasAnsweredSince(now - this.silenceMs) !== true;
    if (!isSilent && now < this.deadline) {
      this.timer = this.lookAgain(now);
      return;
    }
    this.givenUp = new Error(`the server did not answer within ${Math.round(now - this.sentAt)} ms`);
    // A slow statement says nothing about the server, but silence does.
    if (isSilent) this.watched?.suspectServer();
    // pg destroys the socket, since the statement still runs on it.
    void this.client.end();
  }
}

const isWatched = (client: PoolClient): client is PoolClient & WatchedClient => 'suspectServer' in client;

/** What a failed connection or statement means to the caller. */
export function unreachable(error: unknown, wasSent: boolean): unknown {
  // The server's own error says more, and a bug of this process must not look like a network failure.
  if (error instanceof DatabaseError || error instanceof TypeError || error instanceof RangeError) return error;
  if (error instanceof DatabaseUnreachable && error.wasSent === wasSent) return error;
  return new DatabaseUnreachable(error instanceof Error ? error.message : String(error), { cause: error, wasSent });
}
