import { Socket } from 'node:net';
import { setTimeout as sleep } from 'node:timers/promises';
import pg, { type PoolClient, type PoolConfig } from 'pg';
import { messageOf } from '../error-message.js';
import type { Encryption } from './connection/encryption.js';
import { DatabaseUnreachable } from './failure.js';
import type { WatchedClient } from './query.js';
import { EncryptionRefused, type Server, type Servers } from './servers.js';

/** A server that does not answer must leave time to try another one within a read's deadline of 3 s. */
const TRY_NEXT_SERVER_AFTER_MS = 1_200;
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
  readonly servers: Servers;
  readonly connectionTimeoutMillis: number;
  /** Absent: true. */
  readonly preparedStatements?: boolean;
  /** Only reads of an operator, to whom a read-only server will do, or a standby if it is the only server. Absent: false. */
  readonly readsOnly?: boolean;
}

/**
 * A connection to the primary. It is checked when it is made, because a name, a proxy or a pooler may lead to a standby
 * or to a primary that was demoted: a standby answers from the past, so a revoked key would still be valid.
 */
export class PrimaryClient extends pg.Client implements WatchedClient {
  private readonly servers: Servers;
  readonly server: Server;
  private readonly madeAt = performance.now();
  private readonly checkTimeoutMs: number;
  private readonly readsOnly: boolean;
  private readonly encryption: Encryption;
  private address: string | undefined;
  hasUnconfirmedCommit = false;
  readonly preparesStatements: boolean;

  constructor({ servers, preparedStatements, readsOnly = false, ...options }: PrimaryOptions) {
    const server = servers.next;
    const { encryption } = server;
    const timeoutMs =
      servers.attempts === 1
        ? options.connectionTimeoutMillis
        : Math.min(options.connectionTimeoutMillis, TRY_NEXT_SERVER_AFTER_MS);
    super({
      ...options,
      ...server.host.config,
      ssl: encryption,
      // Not from the URL: pg would then end long work too.
      query_timeout: options.query_timeout,
      connectionTimeoutMillis: timeoutMs,
      ...(server.isName && { stream: () => server.socket() }),
    });
    this.servers = servers;
    this.server = server;
    this.readsOnly = readsOnly;
    this.encryption = encryption;
    this.preparesStatements = preparedStatements !== false;
    this.checkTimeoutMs = timeoutMs;
    // Besides rejecting the query, pg emits `error` when a connection is lost. Without a listener it ends the process.
    this.on('error', () => undefined);
    this.on('notice', ({ file }) => {
      if (file === 'syncrep.c') this.hasUnconfirmedCommit = true;
    });
  }

  /** False if the server has failed since the connection was made. */
  get isTrusted(): boolean {
    return !this.server.isSuspectedSince(this.madeAt);
  }

  get bytesRead(): number {
    const { stream } = this.connection;
    return stream instanceof Socket ? stream.bytesRead : 0;
  }

  suspectServer(): void {
    this.server.suspect();
    this.servers.passOver(this.server);
  }

  /** Closes at once: pg would wait for the server to close too, and a silent server never does. */
  abort(): void {
    this.connection.stream.destroy();
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
      this.server.answered();
      return this;
    } catch (error) {
      // Not awaited: a silent server does not answer this either.
      void this.end();
      if (this.server.turnsFrom(this.encryption, error)) {
        throw new EncryptionRefused(messageOf(error), { cause: error });
      }
      this.server.refuse(this.address);
      this.servers.passOver(this.server);
      throw error;
    }
  }

  private async requirePrimary(): Promise<void> {
    const { stream } = this.connection;
    if (stream instanceof Socket) this.address = stream.remoteAddress;
    const check = { text: CHECK, query_timeout: this.checkTimeoutMs };
    const { rows } = await this.query<{ is_standby: boolean; is_read_only: boolean }>(check);
    const [row] = rows;
    if (row?.is_standby === true && !(this.readsOnly && this.servers.isSingle)) {
      throw new DatabaseUnreachable('the server is a standby, not the primary');
    }
    if (row?.is_read_only !== false && !this.readsOnly) {
      throw new DatabaseUnreachable('the server is read-only (default_transaction_read_only)');
    }
  }
}

type ConnectCallback = (
  error: Error | undefined,
  client: PoolClient | undefined,
  done: (release?: unknown) => void,
) => void;

/** A pool of checked connections to the primary. */
export class PrimaryPool extends pg.Pool {
  readonly servers: Servers;
  readonly readsOnly: boolean;
  /** Is told how long each caller waited for a connection, or for the failure. */
  onWaited: ((waitMs: number) => void) | undefined;
  /** Of each open connection, the end. */
  private readonly ends = new Set<Promise<void>>();

  constructor(options: PrimaryOptions) {
    // The type of `Client` omits the options, with which the pool calls it.
    const Client = PrimaryClient as unknown as new () => pg.ClientBase;
    super({ maxLifetimeSeconds: MAX_LIFETIME_SECONDS, ...options, Client });
    this.servers = options.servers;
    this.readsOnly = options.readsOnly === true;
    // As with clients; the rejected query reports the failure.
    this.on('error', () => undefined);
    this.on('connect', (client) => this.expectEndOf(client));
  }

  /**
   * Resolves when the connections have ended, or after a second. pg's own pool only asks them to end: a server that is stopped
   * then still has some, and logs an error for each.
   */
  override end(): Promise<void>;
  override end(callback: (error?: Error) => void): void;
  override end(callback?: (error?: Error) => void): Promise<void> | undefined {
    const ended = this.endConnections();
    if (callback === undefined) return ended;
    ended.then(() => callback(), callback);
    return undefined;
  }

  override connect(): Promise<PoolClient>;
  override connect(callback: ConnectCallback): void;
  override connect(callback?: ConnectCallback): Promise<PoolClient> | undefined {
    const connecting = this.connectInTurn();
    if (callback === undefined) return connecting;
    connecting.then(
      (client) => callback(undefined, client, (error) => client.release(error as Error | undefined)),
      (error) => callback(error, undefined, () => undefined),
    );
    return undefined;
  }

  private async endConnections(): Promise<void> {
    await super.end();
    // Unless it is unreferenced, the timer keeps a command from ending.
    await Promise.race([Promise.all(this.ends), sleep(MAX_CLOSING_MS, undefined, { ref: false })]);
  }

  private expectEndOf(client: PoolClient): void {
    const end = new Promise<void>((resolve) => client.once('end', resolve)).then(() => void this.ends.delete(end));
    this.ends.add(end);
  }

  private connectInTurn(): Promise<PoolClient> {
    const connecting = this.servers.inTurn(() => this.trustedClient());
    const { onWaited } = this;
    if (onWaited === undefined) return connecting;
    const startedAt = performance.now();
    return connecting.finally(() => onWaited(performance.now() - startedAt));
  }

  private async trustedClient(): Promise<PoolClient> {
    for (;;) {
      const client = await super.connect();
      if (!(client instanceof PrimaryClient) || client.isTrusted) return client;
      client.abort();
      client.release(true);
    }
  }
}
