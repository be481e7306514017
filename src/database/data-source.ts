import { setTimeout as sleep } from 'node:timers/promises';
import pg from 'pg';
import { DataSource, type DataSourceOptions } from 'typeorm';
import { MIGRATIONS } from '../../migrations/all.js';
import { OperatorError } from '../operator-error.js';
import { mayPass, withAdvice } from './connection/advice.js';
import type { DatabaseServer } from './database-url.js';
import { PrimaryClient, type PrimaryOptions, PrimaryPool } from './primary-pool.js';
import { refuseSchemaOfBefore } from './schema/migrations.js';

export const MIN_POSTGRES_VERSION = 140_000;
/** Number of the version, and encoding of the database. */
export const SUITABILITY = `select current_setting('server_version_num')::int as version, current_setting('server_encoding') as encoding`;
/** Both for making a connection and for waiting until the pool has a free one. */
const CONNECT_TIMEOUT_MS = 2_500;
/** Long work may wait longer for its connection than a request. */
const DEDICATED_CONNECT_TIMEOUT_MS = 10_000;
/** For statements without a deadline of their own, which are those of the start and of commands. */
const QUERY_TIMEOUT_MS = 30_000;
/** How long a start waits for a database that is not up yet, for example in a compose file. */
const WAIT_FOR_DATABASE_MS = 30_000;
const BETWEEN_CONNECTS_MS = 500;
/** A wait that is longer is told, with its end. */
const SILENT_WAIT_MS = 1_500;

/** A server, and the setting that names it. */
interface Place {
  readonly setting: string;
  readonly server: DatabaseServer;
}

export async function connect(
  { setting, server }: Place,
  options: ConnectionOptions,
  log: (line: string) => void,
): Promise<DataSource> {
  const dataSource = new DataSource(dataSourceOptions(server, options));
  const deadline = Date.now() + WAIT_FOR_DATABASE_MS;
  let reason = `${server.name || 'the local socket'} did not answer yet`;
  const notice = setTimeout(
    () => log(`waiting up to ${WAIT_FOR_DATABASE_MS / 1000} s for the database: ${reason}`),
    SILENT_WAIT_MS,
  );
  try {
    for (;;) {
      try {
        await dataSource.initialize();
        await requireSuitableServer(dataSource);
        // An export reads it.
        if (options.readsOnly !== true) await refuseSchemaOfBefore(dataSource);
        return dataSource;
      } catch (error) {
        if (dataSource.isInitialized) await dataSource.destroy();
        if (error instanceof OperatorError) throw error;
        reason = withAdvice(error, setting);
        if (!mayPass(error) || Date.now() > deadline) {
          throw new OperatorError(`the database cannot be used: ${reason}`);
        }
        await sleep(BETWEEN_CONNECTS_MS);
      }
    }
  } finally {
    clearTimeout(notice);
  }
}

type PostgresDataSourceOptions = Extract<DataSourceOptions, { readonly type: 'postgres' }>;

interface ConnectionOptions {
  readonly databasePoolSize: number;
  /** False behind a pooler that shares sessions and knows no named statements, such as PgBouncer 1.18. Absent: true. */
  readonly preparedStatements?: boolean;
  /** A standby or a read-only server will do. Absent: false. */
  readonly readsOnly?: boolean;
}

export const dataSourceOptions = (
  server: DatabaseServer,
  { databasePoolSize, preparedStatements = true, readsOnly = false }: ConnectionOptions,
): PostgresDataSourceOptions => ({
  type: 'postgres',
  driver: { ...pg, Pool: PrimaryPool },
  applicationName: 'tunnel-access',
  migrations: MIGRATIONS,
  migrationsTransactionMode: 'each',
  extra: {
    server,
    preparedStatements,
    readsOnly,
    max: databasePoolSize,
    connectionTimeoutMillis: CONNECT_TIMEOUT_MS,
    query_timeout: QUERY_TIMEOUT_MS,
    keepAlive: true,
  } satisfies PrimaryOptions,
});

async function requireSuitableServer(dataSource: DataSource): Promise<void> {
  const [row] = await dataSource.query<{ version: number; encoding: string }[]>(SUITABILITY);
  if (row === undefined || row.version < MIN_POSTGRES_VERSION) {
    throw new OperatorError(`the service needs PostgreSQL 14 or newer; the server reports version ${row?.version}`);
  }
  if (row.encoding !== 'UTF8') {
    throw new OperatorError(`the database's encoding is ${row.encoding}; create it with encoding 'UTF8'`);
  }
}

/** TypeORM's type covers only what all drivers share; for type 'postgres', `master` is the pg pool. */
export function poolOf(dataSource: DataSource): PrimaryPool {
  const { master } = dataSource.driver as unknown as { master: PrimaryPool };
  return master;
}

/** Connects as the pool under the data source does. Its users set the time limits of their statements. */
export function secondPool(dataSource: DataSource, size: number): PrimaryPool {
  const { server, options } = poolOf(dataSource);
  const limits = { query_timeout: undefined, connectionTimeoutMillis: CONNECT_TIMEOUT_MS };
  return new PrimaryPool({ ...options, ...limits, server, max: size });
}

/** Opens a connection to the same database outside the pool, without a time limit on statements. The caller ends it. */
export function connectDedicated(dataSource: DataSource): Promise<pg.Client> {
  const { server, options } = poolOf(dataSource);
  const limits = { query_timeout: 0, connectionTimeoutMillis: DEDICATED_CONNECT_TIMEOUT_MS };
  return new PrimaryClient({ ...options, server, ...limits }).connect();
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
