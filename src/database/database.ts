import path from 'node:path';
import pg, { type Pool } from 'pg';
import { DataSource, type DataSourceOptions } from 'typeorm';
import { MIGRATIONS } from '../../migrations/all.js';
import type { Config } from '../config.js';
import { OperatorError } from '../operator-error.js';
import {
  type EmbeddedPostgres,
  findRunningPostgres,
  hasData,
  startEmbeddedPostgres,
} from './embedded/embedded-postgres.js';
import { PostgresFailure } from './failure.js';
import { surviveLostConnections } from './query.js';

/** Injection token of the pg pool under TypeORM's data source: hot statements go to it as named statements. */
export const POOL = Symbol('pg pool');

const LEAST_POSTGRES_VERSION = 140_000;
const CONNECT_TIMEOUT_MS = 10_000;
/** A statement of the service that takes this long will not come back: its connection is dropped and the append sent again. */
const QUERY_TIMEOUT_MS = 30_000;
/** How long a start waits for a database that is not up yet, as in a compose file. */
const WAIT_FOR_DATABASE_MS = 30_000;

export interface Database {
  readonly dataSource: DataSource;
  readonly pool: Pool;
  /** For a person: which database this is. Never holds a password. */
  readonly description: string;
  /** Undefined when DATABASE_URL names the server. */
  readonly embedded: EmbeddedPostgres | undefined;
  close(): Promise<void>;
}

/** A database that cannot be used, said for the operator. */
export class DatabaseUnusable extends OperatorError {
  override readonly name = 'DatabaseUnusable';
}

type Target = { readonly url: string } | { readonly host: string; readonly port: number; readonly user: string };

/** Who opens it. An operator's command uses the server that a running copy has started, and most of them make no new data. */
export type Opener = 'the service' | 'a command' | 'a command that may make data';

/**
 * Connects, starting the embedded server when no DATABASE_URL is set; an operator's command uses the one that a running
 * copy of the service has started. Does not migrate.
 */
export async function openDatabase(
  config: Pick<Config, 'databaseUrl' | 'dataDir' | 'databasePoolSize'>,
  log: (line: string) => void,
  as: Opener = 'the service',
): Promise<Database> {
  const { target, embedded } = await findServer(config, log, as);
  try {
    const dataSource = await connect(target, config.databasePoolSize, log);
    return {
      dataSource,
      pool: surviveLostConnections(poolOf(dataSource)),
      description: 'url' in target ? describe(target.url) : 'embedded PostgreSQL',
      embedded,
      close: async () => {
        // Nest closes the data source when it stops; it may never have started.
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
  { databaseUrl, dataDir }: Pick<Config, 'databaseUrl' | 'dataDir'>,
  log: (line: string) => void,
  as: Opener,
): Promise<{ target: Target; embedded: EmbeddedPostgres | undefined }> {
  if (databaseUrl !== undefined) return { target: { url: databaseUrl }, embedded: undefined };
  const running = as === 'the service' ? undefined : await findRunningPostgres(dataDir);
  if (running !== undefined) return { target: running, embedded: undefined };
  if (as === 'a command' && !(await hasData(dataDir))) {
    const text = `there is no database in DATA_DIR ${path.resolve(dataDir)}: set DATA_DIR, or DATABASE_URL, to what the service has`;
    throw new DatabaseUnusable(text);
  }
  const embedded = await startEmbeddedPostgres({ dataDir, log });
  return { target: embedded, embedded };
}

async function connect(target: Target, poolSize: number, log: (line: string) => void): Promise<DataSource> {
  const dataSource = new DataSource(dataSourceOptions(target, poolSize));
  const until = Date.now() + WAIT_FOR_DATABASE_MS;
  for (let attempt = 1; ; attempt += 1) {
    try {
      await dataSource.initialize();
      await refuseUnsuitable(dataSource);
      return dataSource;
    } catch (error) {
      if (dataSource.isInitialized) await dataSource.destroy();
      const isAnswer = error instanceof pg.DatabaseError && !PostgresFailure.of(error).isConnectionLoss;
      if (isAnswer || error instanceof DatabaseUnusable || Date.now() > until) throw unusable(error);
      if (attempt === 1) log(`waiting for the database: ${messageOf(error)}`);
      await new Promise((resolve) => setTimeout(resolve, 500));
    }
  }
}

const messageOf = (error: unknown): string => {
  if (error instanceof AggregateError) return error.errors.map(messageOf).join('; ');
  return error instanceof Error ? error.message : String(error);
};

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

async function refuseUnsuitable(dataSource: DataSource): Promise<void> {
  const [row] = await dataSource.query<{ version: number; encoding: string }[]>(
    `select current_setting('server_version_num')::int as version, current_setting('server_encoding') as encoding`,
  );
  if (row === undefined || row.version < LEAST_POSTGRES_VERSION) {
    throw new DatabaseUnusable(`PostgreSQL 14 or newer is needed; the server reports version ${row?.version}`);
  }
  if (row.encoding !== 'UTF8') {
    throw new DatabaseUnusable(`the database's encoding is ${row.encoding}; create it with encoding 'UTF8'`);
  }
}

/** TypeORM types its driver by what all databases share; for type 'postgres' `master` is the pg pool. */
function poolOf(dataSource: DataSource): Pool {
  const { master } = dataSource.driver as unknown as { master: Pool };
  return master;
}

function describe(url: string): string {
  const { hostname, port, pathname } = new URL(url);
  return `PostgreSQL at ${hostname || 'the local socket'}${port === '' ? '' : `:${port}`}${pathname}`;
}

/** A connection of its own to the same database, outside the pool. The caller ends it. */
export async function connectDedicated(dataSource: DataSource): Promise<pg.Client> {
  const { options } = poolOf(dataSource);
  const client = new pg.Client(options).on('error', () => undefined);
  // Not by an option: one in DATABASE_URL would come before it.
  (client as unknown as { connectionParameters: pg.ClientConfig }).connectionParameters.query_timeout = 0;
  await client.connect();
  return client;
}

/** The same database without the time limit of the service's own statements, on a single connection: for migrations. */
export async function withoutTimeLimit<T>(
  { options }: DataSource,
  work: (patient: DataSource) => Promise<T>,
): Promise<T> {
  const extra = { ...options.extra, max: 1, query_timeout: undefined };
  const patient = await new DataSource({ ...options, extra }).initialize();
  try {
    return await work(patient);
  } finally {
    await patient.destroy();
  }
}
