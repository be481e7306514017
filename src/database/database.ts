import path from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import pg, { type Pool } from 'pg';
import { DataSource, type DataSourceOptions } from 'typeorm';
import { MIGRATIONS } from '../../migrations/all.js';
import { messageOf } from '../error-message.js';
import { OperatorError } from '../operator-error.js';
import {
  type EmbeddedPostgres,
  findRunningPostgres,
  hasData,
  startEmbeddedPostgres,
} from './embedded/embedded-postgres.js';
import { PostgresFailure } from './failure.js';
import { surviveLostConnections } from './lost-connections.js';

/** Injection token of the pg pool under TypeORM's data source; frequent queries use it with named statements. */
export const POOL = Symbol('pg pool');

const MIN_POSTGRES_VERSION = 140_000;
const CONNECT_TIMEOUT_MS = 10_000;
/** After this time the service gives a statement up: pg closes the connection, and an append is sent again. */
const QUERY_TIMEOUT_MS = 30_000;
/** How long a start waits for a database that is not up yet, for example in a compose file. */
const WAIT_FOR_DATABASE_MS = 30_000;
const BETWEEN_CONNECTS_MS = 500;

/** The settings that `openDatabase` needs. */
export interface DatabaseOptions {
  /** A PostgreSQL server to use; undefined: the embedded one, with its data under `dataDir`. */
  readonly databaseUrl: string | undefined;
  readonly dataDir: string;
  readonly databasePoolSize: number;
  readonly dearReadConnections: number;
}

export interface Database {
  readonly dataSource: DataSource;
  readonly pool: Pool;
  /** The connections of reads that can cost much (DearReads). They open when they are needed. */
  readonly dearReadPool: Pool;
  /** Names the database for people. Never holds a password. */
  readonly description: string;
  /** Undefined if DATABASE_URL names the server. */
  readonly embedded: EmbeddedPostgres | undefined;
  close(): Promise<void>;
}

/** The database cannot be used. The message is for the operator. */
class DatabaseUnusable extends OperatorError {
  override readonly name = 'DatabaseUnusable';
}

type Target = { readonly url: string } | { readonly host: string; readonly port: number; readonly user: string };

/**
 * Applies to the embedded server. `serve`: start it, as only one instance of the service can. `attach`: use the server of a
 * running instance, else start it on existing data. `attach-or-create`: the same, but create the data if there is none.
 */
export type OpenMode = 'serve' | 'attach' | 'attach-or-create';

/** Connects, and starts the embedded server if DATABASE_URL is not set and `mode` allows it. Does not migrate. */
export async function openDatabase(
  options: DatabaseOptions,
  log: (line: string) => void,
  mode: OpenMode = 'serve',
): Promise<Database> {
  const { target, embedded } = await findServer(options, log, mode);
  try {
    const dataSource = await connect(target, options.databasePoolSize, log);
    const dearReadPool = secondPool(dataSource, options.dearReadConnections);
    return {
      dataSource,
      dearReadPool,
      pool: surviveLostConnections(poolOf(dataSource)),
      description: 'url' in target ? describe(target.url) : 'embedded PostgreSQL',
      embedded,
      close: async () => {
        await dearReadPool.end();
        // Nest closes the data source when it stops, but Nest may not have started.
        if (dataSource.isInitialized) await dataSource.destroy();
        await embedded?.stop();
      },
    };
  } catch (error) {
    await embedded?.stop();
    throw error;
  }
}

async function findServer(
  { databaseUrl, dataDir }: DatabaseOptions,
  log: (line: string) => void,
  mode: OpenMode,
): Promise<{ target: Target; embedded: EmbeddedPostgres | undefined }> {
  if (databaseUrl !== undefined) return { target: { url: databaseUrl }, embedded: undefined };
  const running = mode === 'serve' ? undefined : await findRunningPostgres(dataDir);
  if (running !== undefined) return { target: running, embedded: undefined };
  if (mode === 'attach' && !(await hasData(dataDir))) {
    const text = `there is no database in DATA_DIR ${path.resolve(dataDir)}: set DATA_DIR or DATABASE_URL to the value that the service uses`;
    throw new DatabaseUnusable(text);
  }
  const embedded = await startEmbeddedPostgres({ dataDir, log });
  return { target: embedded, embedded };
}

async function connect(target: Target, poolSize: number, log: (line: string) => void): Promise<DataSource> {
  const dataSource = new DataSource(dataSourceOptions(target, poolSize));
  const deadline = Date.now() + WAIT_FOR_DATABASE_MS;
  for (let attempt = 1; ; attempt += 1) {
    try {
      await dataSource.initialize();
      await requireSuitableServer(dataSource);
      return dataSource;
    } catch (error) {
      if (dataSource.isInitialized) await dataSource.destroy();
      const isServerError = error instanceof pg.DatabaseError && !PostgresFailure.of(error).isConnectionLoss;
      if (isServerError || error instanceof DatabaseUnusable || Date.now() > deadline) throw unusable(error);
      if (attempt === 1) log(`waiting for the database: ${messageOf(error)}`);
      await sleep(BETWEEN_CONNECTS_MS);
    }
  }
}

const unusable = (error: unknown): DatabaseUnusable =>
  error instanceof DatabaseUnusable ? error : new DatabaseUnusable(`the database cannot be used: ${messageOf(error)}`);

const dataSourceOptions = (target: Target, poolSize: number): DataSourceOptions => ({
  type: 'postgres',
  ...('url' in target
    ? { url: target.url }
    : { host: target.host, port: target.port, username: target.user, database: 'postgres' }),
  applicationName: 'tunnel-access',
  migrations: MIGRATIONS,
  migrationsTransactionMode: 'each',
  extra: {
    max: poolSize,
    connectionTimeoutMillis: CONNECT_TIMEOUT_MS,
    query_timeout: QUERY_TIMEOUT_MS,
    keepAlive: true,
  },
});

async function requireSuitableServer(dataSource: DataSource): Promise<void> {
  const [row] = await dataSource.query<{ version: number; encoding: string }[]>(
    `select current_setting('server_version_num')::int as version, current_setting('server_encoding') as encoding`,
  );
  if (row === undefined || row.version < MIN_POSTGRES_VERSION) {
    throw new DatabaseUnusable(`the service needs PostgreSQL 14 or newer; the server reports version ${row?.version}`);
  }
  if (row.encoding !== 'UTF8') {
    throw new DatabaseUnusable(`the database's encoding is ${row.encoding}; create it with encoding 'UTF8'`);
  }
}

/** TypeORM's type covers only what all drivers share; for type 'postgres', `master` is the pg pool. */
function poolOf(dataSource: DataSource): Pool {
  const { master } = dataSource.driver as unknown as { master: Pool };
  return master;
}

/**
 * Connects as the pool under the data source does, but its users set the time limits of their statements. The pool's
 * password is not enumerable, so it is named.
 */
function secondPool(dataSource: DataSource, size: number): Pool {
  const { options } = poolOf(dataSource);
  return surviveLostConnections(
    new pg.Pool({ ...options, password: options.password, max: size, query_timeout: undefined }),
  );
}

function describe(url: string): string {
  const { hostname, port, pathname } = new URL(url);
  return `PostgreSQL at ${hostname || 'the local socket'}${port === '' ? '' : `:${port}`}${pathname}`;
}

/** Opens a connection to the same database outside the pool, without a time limit on statements. The caller ends it. */
export async function connectDedicated(dataSource: DataSource): Promise<pg.Client> {
  const { options } = poolOf(dataSource);
  const client = new pg.Client(options).on('error', () => undefined);
  // Set after construction, since a query_timeout in DATABASE_URL would override an option.
  (client as unknown as { connectionParameters: pg.ClientConfig }).connectionParameters.query_timeout = 0;
  await client.connect();
  return client;
}

/** Runs migrations on a data source of a single connection, without the service's time limit on statements. */
export async function withoutTimeLimit<T>(
  { options }: DataSource,
  work: (unlimited: DataSource) => Promise<T>,
): Promise<T> {
  const extra = { ...options.extra, max: 1, query_timeout: undefined };
  const unlimited = await new DataSource({ ...options, extra }).initialize();
  try {
    return await work(unlimited);
  } finally {
    await unlimited.destroy();
  }
}
