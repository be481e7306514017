import { setTimeout as sleep } from 'node:timers/promises';
import pg, { type PoolClient, type PoolConfig } from 'pg';
import type { DatabaseServer } from './database-url.js';
import { DatabaseUnreachable } from './failure.js';
import type { CheckedClient, WatchedPool } from './query.js';

/** Bounds how long a connection keeps to a server that a name or a proxy no longer leads to. */
const MAX_LIFETIME_SECONDS = 300;
/** A server closes at once; one that is silent must not hold up a stop. */
const MAX_CLOSING_MS = 1_000;

/**
 * Also asks the server to end a statement whose connection is closed, which PostgreSQL can on Linux: a statement that
 * was given up would run on beside its repetition. In a pooler's session the setting does no harm.
 */
const CHECK = `select pg_is_in_recovery() as is_standby, current_setting('transaction_read_only') = 'on' as is_read_only,
  (select set_config('client_connection_check_interval', '1000', false) where version() like '%linux%')`;

export interface PrimaryOptions extends PoolConfig {
  readonly server: DatabaseServer;
  readonly connectionTimeoutMillis: number;
  /** Absent: true. */
  readonly preparedStatements?: boolean;
  /** Only reads of an operator, to whom a standby or a read-only server will do. Absent: false. */
  readonly readsOnly?: boolean;
}

/** What pg needs for a connection. The query_timeout is not from the URL: pg would then end long work too. */
export const clientConfigOf = ({ server, ...options }: PrimaryOptions): PoolConfig => ({
  ...options,
  ...server.config,
  ssl: server.encryption,
  query_timeout: options.query_timeout,
});

/**
 * A connection to the primary. It is checked when it is made, because a name, a proxy or a pooler may lead to a standby
 * or to a primary that was demoted: a standby answers from the past, so a revoked key would still be valid.
 */
export class PrimaryClient extends pg.Client implements CheckedClient {
  private readonly checkTimeoutMs: number;
  private readonly readsOnly: boolean;
  hasUnconfirmedCommit = false;
  readonly preparesStatements: boolean;

  constructor(options: PrimaryOptions) {
    super(clientConfigOf(options));
    this.readsOnly = options.readsOnly === true;
    this.preparesStatements = options.preparedStatements !== false;
    this.checkTimeoutMs = options.connectionTimeoutMillis;
    // Besides rejecting the query, pg emits `error` when a connection is lost. Without a listener it ends the process.
    this.on('error', () => undefined);
    this.on('notice', ({ file }) => {
      if (file === 'syncrep.c') this.hasUnconfirmedCommit = true;
    });
  }

  override connect(): Promise<this>;
  override connect(callback: ((error: Error) => void) | ((error: null, client: pg.Client) => void)): void;
  override connect(
    callback?: ((error: Error) => void) | ((error: null, client: pg.Client) => void),
  ): Promise<this> | undefined {
    const connecting = this.connectToPrimary();
    if (callback === undefined) return connecting;
    const answer = callback as (error: Error | null, client?: pg.Client) => void;
    connecting.then(
      () => answer(null, this),
      (error) => answer(error),
    );
    return undefined;
  }

  private async connectToPrimary(): Promise<this> {
    try {
      await super.connect();
      await this.requirePrimary();
      return this;
    } catch (error) {
      // Not awaited: a silent server does not answer this either.
      void this.end();
      throw error;
    }
  }

  private async requirePrimary(): Promise<void> {
    const check = { text: CHECK, query_timeout: this.checkTimeoutMs };
    const { rows } = await this.query<{ is_standby: boolean; is_read_only: boolean }>(check);
    if (this.readsOnly) return;
    const [row] = rows;
    if (row?.is_standby !== false) throw new DatabaseUnreachable('the server is a standby, not the primary');
    if (row.is_read_only) throw new DatabaseUnreachable('the server is read-only (default_transaction_read_only)');
  }
}

/** A pool of checked connections to the primary. */
export class PrimaryPool extends pg.Pool implements WatchedPool {
  onWaited: ((waitMs: number) => void) | undefined;
  /** Of each open connection, the end. */
  private readonly ends = new Set<Promise<void>>();

  constructor(readonly settings: PrimaryOptions) {
    // The type of `Client` omits the options, with which the pool calls it.
    const Client = PrimaryClient as unknown as new () => pg.ClientBase;
    super({ maxLifetimeSeconds: MAX_LIFETIME_SECONDS, ...settings, Client });
    // As with clients; the rejected query reports the failure.
    this.on('error', () => undefined);
    this.on('connect', (client) => this.expectEndOf(client));
  }

  /**
   * Resolves when the connections have ended, or after a second. pg's own pool only asks them to end: a server that is stopped
   * then still has some, and logs an error for each.
   */
  override async end(): Promise<void> {
    await super.end();
    // Unless it is unreferenced, the timer keeps a command from ending.
    await Promise.race([Promise.all(this.ends), sleep(MAX_CLOSING_MS, undefined, { ref: false })]);
  }

  /** Ends the idle connections: the next ones have what the role's defaults are now. */
  async renew(): Promise<void> {
    const idle = await Promise.all(Array.from({ length: this.idleCount }, () => this.connect()));
    for (const client of idle) client.release(true);
  }

  private expectEndOf(client: PoolClient): void {
    const end = new Promise<void>((resolve) => client.once('end', resolve)).then(() => void this.ends.delete(end));
    this.ends.add(end);
  }
}
