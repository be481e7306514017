import { setTimeout as sleep } from 'node:timers/promises';
import pg, { type PoolClient, type PoolConfig } from 'pg';
import type { DatabaseServer } from './database-url.js';
import { DatabaseUnreachable } from './failure.js';
import type { CheckedClient, WatchedPool } from './query.js';

/**
 * After a failover a name or a proxy leads to another server. A connection to the old one lives no longer than this.
 */
const MAX_LIFETIME_SECONDS = 300;
/** A server closes its connections at once. A silent server must not delay the stop of the service. */
const MAX_CLOSING_MS = 1_000;

/**
 * Replaces defaults of the role, the database and the server that end statements or change what they mean. It is apart
 * from the check, which a default timeout could end.
 */
const OWN_SETTINGS = `set statement_timeout = 0; set lock_timeout = 0; set idle_in_transaction_session_timeout = 0;
  set standard_conforming_strings = on`;

/**
 * Checks the server, switches off the timeouts that only newer servers have, and tells it to end a statement when the
 * connection is closed. Without the latter a statement that the service gave up would still run while the service sends
 * it again. PostgreSQL can do this on Linux.
 */
const CHECK = `select pg_is_in_recovery() as is_standby, current_setting('transaction_read_only') = 'on' as is_read_only,
  (select set_config('client_connection_check_interval', '1000', false) where version() like '%linux%'),
  (select count(set_config(name, '0', false)) from pg_settings where name in ('idle_session_timeout', 'transaction_timeout'))`;

export interface PrimaryOptions extends PoolConfig {
  readonly server: DatabaseServer;
  readonly connectionTimeoutMillis: number;
  /** Absent: true. */
  readonly preparedStatements?: boolean;
  /** True for an operator who only reads: a standby or a read-only server is accepted. Absent: false. */
  readonly readsOnly?: boolean;
}

/** The options of pg for a connection. A query_timeout in the URL has no effect: it would end long work too. */
const clientConfigOf = ({ server, ...options }: PrimaryOptions): PoolConfig => ({
  ...options,
  ...server.config,
  ssl: server.encryption,
  query_timeout: options.query_timeout,
});

/**
 * A connection to the primary. A name, a proxy or a pooler may lead to a standby instead, and a standby may not know
 * that a key was revoked. So each new connection is checked.
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
    // When a connection is lost, pg rejects the query and also emits `error`, which would end the process without a
    // listener.
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
      await this.prepareSession();
      return this;
    } catch (error) {
      // Not awaited, because a silent server does not answer this either.
      void this.end();
      throw error;
    }
  }

  private async prepareSession(): Promise<void> {
    const settings = { text: OWN_SETTINGS, query_timeout: this.checkTimeoutMs };
    await this.query(settings);
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
  /** A promise for each open connection, which resolves when the connection has ended. */
  private readonly ends = new Set<Promise<void>>();

  constructor(readonly settings: PrimaryOptions) {
    // pg's type of `Client` lacks the options that the pool passes to it.
    const Client = PrimaryClient as unknown as new () => pg.ClientBase;
    super({ maxLifetimeSeconds: MAX_LIFETIME_SECONDS, ...settings, Client });
    // The rejected query reports the failure, as with clients.
    this.on('error', () => undefined);
    this.on('connect', (client) => this.expectEndOf(client));
  }

  /**
   * Resolves when all connections have ended, or after a second. pg's own pool does not wait for them: a server that is
   * stopped right after it would log an error for each.
   */
  override async end(): Promise<void> {
    await super.end();
    // `ref: false`: the timer must not keep a command from ending.
    await Promise.race([Promise.all(this.ends), sleep(MAX_CLOSING_MS, undefined, { ref: false })]);
  }

  /** Ends the idle connections, because only new ones get the present defaults of the role. */
  async renew(): Promise<void> {
    const idle = await Promise.all(Array.from({ length: this.idleCount }, () => this.connect()));
    for (const client of idle) client.release(true);
  }

  private expectEndOf(client: PoolClient): void {
    const end = new Promise<void>((resolve) => client.once('end', resolve)).then(() => void this.ends.delete(end));
    this.ends.add(end);
  }
}
