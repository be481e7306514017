import path from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import pg from 'pg';
import { DataSource, type DataSourceOptions } from 'typeorm';

import { MIGRATIONS } from '../../migrations/all.js';
import { OperatorError } from '../operator-error.js';
import { mayPass, withAdvice } from './connection/advice.js';
import { describeDatabase, type HostConfig, parseDatabaseUrl } from './database-url.js';
import {
  type EmbeddedPostgres,
  findRunningPostgres,
  hasData,
  startEmbeddedPostgres,
} from './embedded/embedded-postgres.js';
import { PrimaryClient, type PrimaryOptions, PrimaryPool } from './primary-pool.js';
import { refuseNewerSchema } from './schema/migrations.js';
import { Servers } from './servers.js';

/** Injection token of the pg pool under TypeORM's data source; frequent queries use it with named statements. */
export const POOL = Symbol('pg pool');

const MIN_POSTGRES_VERSION = 140_000;
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

/** The settings that `openDatabase` needs. */
export interface DatabaseOptions {
  /** A PostgreSQL server to use; undefined: the embedded one, with its data under `dataDir`. */
  readonly databaseUrl: string | undefined;
  /** The same database, with the role that owns its tables; undefined: the role of `databaseUrl` owns them. */
  readonly migrationDatabaseUrl?: string | undefined;
  readonly dataDir: string;
  readonly databasePoolSize: number;
  readonly dearReadConnections: number;
  /** False behind a pooler that shares sessions and knows no named statements, such as PgBouncer 1.18. Absent: true. */
  readonly preparedStatements?: boolean;
}

export interface Database {
  readonly dataSource: DataSource;
  readonly pool: PrimaryPool;
  /** The connections of reads that can cost much (DearReads). They open when they are needed. */
  readonly dearReadPool: PrimaryPool;
  /** Names the database for people. Never holds a password. */
  readonly description: string;
  /** Undefined if DATABASE_URL names the server. */
  readonly embedded: EmbeddedPostgres | undefined;
  /** Whether another role than the service's owns the tables. */
  readonly hasOwner: boolean;
  /** Runs `work` as the role that owns the tables. */
  asOwner<T>(work: (owner: DataSource) => Promise<T>): Promise<T>;
  close(): Promise<void>;
}

/** The database cannot be used. The message is for the operator. */
class DatabaseUnusable extends OperatorError {
  override readonly name = 'DatabaseUnusable';
}

/**
 * `serve`: start the embedded server, as only one instance of the service can. `attach`: use the server of a running
 * instance, else start it on existing data. `attach-or-create`: the same, but create the data if there is none. `read`: as
 * `attach`, and a read-only server will do, or a standby if DATABASE_URL names it alone.
 */
export type OpenMode = 'serve' | 'attach' | 'attach-or-create' | 'read';

/** Connects, and starts the embedded server if DATABASE_URL is not set and `mode` allows it. Does not migrate. */
export async function openDatabase(
  options: DatabaseOptions,
  log: (line: string) => void,
  mode: OpenMode = 'serve',
): Promise<Database> {
  const { hosts, embedded } = await findServer(options, log, mode);
  try {
    const place = { setting: 'DATABASE_URL', hosts };
    const dataSource = await connect(place, { ...options, readsOnly: mode === 'read' }, log);
    const dearReadPool = secondPool(dataSource, options.dearReadConnections);
    return {
      dataSource,
      dearReadPool,
      pool: poolOf(dataSource),
      description: options.databaseUrl === undefined ? 'embedded PostgreSQL' : describeDatabase(options.databaseUrl),
      embedded,
      hasOwner: options.migrationDatabaseUrl !== undefined,
      asOwner: (work) => runAsOwner(options, dataSource, log, work),
      close: async () => {
        if (!dearReadPool.ended) await dearReadPool.end();
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

async function runAsOwner<T>(
  options: DatabaseOptions,
  service: DataSource,
  log: (line: string) => void,
  work: (owner: DataSource) => Promise<T>,
): Promise<T> {
  if (options.migrationDatabaseUrl === undefined) return work(service);
  const place = { setting: 'MIGRATION_DATABASE_URL', hosts: parseDatabaseUrl(options.migrationDatabaseUrl) };
  const owner = await connect(place, options, log);
  try {
    return await work(owner);
  } finally {
    await owner.destroy();
  }
}

async function findServer(
  { databaseUrl, dataDir }: DatabaseOptions,
  log: (line: string) => void,
  mode: OpenMode,
): Promise<{ hosts: readonly HostConfig[]; embedded: EmbeddedPostgres | undefined }> {
  if (databaseUrl !== undefined) return { hosts: parseDatabaseUrl(databaseUrl), embedded: undefined };
  const running = mode === 'serve' ? undefined : await findRunningPostgres(dataDir);
  if (running !== undefined) return { hosts: [embeddedHost(running)], embedded: undefined };
  if (['attach', 'read'].includes(mode) && !(await hasData(dataDir))) {
    const text = `there is no database in DATA_DIR ${path.resolve(dataDir)}: set DATA_DIR or DATABASE_URL to the value that the service uses`;
    throw new DatabaseUnusable(text);
  }
  const embedded = await startEmbeddedPostgres({ dataDir, log });
  return { hosts: [embeddedHost(embedded)], embedded };
}

export const embeddedHost = ({ host, port, user }: Pick<EmbeddedPostgres, 'host' | 'port' | 'user'>): HostConfig => ({
  name: 'embedded PostgreSQL',
  config: { host, port, user, database: 'postgres' },
  encryptions: [false],
});

/** Hosts, and the setting that names them. */
interface Place {
  readonly setting: string;
  readonly hosts: readonly HostConfig[];
}

async function connect(
  { setting, hosts }: Place,
  options: ConnectionOptions,
  log: (line: string) => void,
): Promise<DataSource> {
  const dataSource = new DataSource(dataSourceOptions(new Servers(hosts), options));
  const deadline = Date.now() + WAIT_FOR_DATABASE_MS;
  let reason = `${hosts.map(({ name }) => name || 'the local socket').join(', ')} did not answer yet`;
  const notice = setTimeout(
    () => log(`waiting up to ${WAIT_FOR_DATABASE_MS / 1000} s for the database: ${reason}`),
    SILENT_WAIT_MS,
  );
  try {
    for (;;) {
      try {
        await dataSource.initialize();
        await requireSuitableServer(dataSource);
        return dataSource;
      } catch (error) {
        if (dataSource.isInitialized) await dataSource.destroy();
        if (error instanceof OperatorError) throw error;
        reason = withAdvice(error, setting);
        if (!mayPass(error) || Date.now() > deadline) {
          throw new DatabaseUnusable(`the database cannot be used: ${reason}`);
        }
        await sleep(BETWEEN_CONNECTS_MS);
      }
    }
  } finally {
    clearTimeout(notice);
  }
}

type PostgresDataSourceOptions = Extract<DataSourceOptions, { readonly type: 'postgres' }>;

interface ConnectionOptions extends Pick<DatabaseOptions, 'databasePoolSize' | 'preparedStatements'> {
  readonly readsOnly?: boolean;
}

export const dataSourceOptions = (
  servers: Servers,
  { databasePoolSize, preparedStatements = true, readsOnly = false }: ConnectionOptions,
): PostgresDataSourceOptions => ({
  type: 'postgres',
  driver: { ...pg, Pool: PrimaryPool },
  applicationName: 'tunnel-access',
  migrations: MIGRATIONS,
  migrationsTransactionMode: 'each',
  extra: {
    servers,
    preparedStatements,
    readsOnly,
    max: databasePoolSize,
    connectionTimeoutMillis: CONNECT_TIMEOUT_MS,
    query_timeout: QUERY_TIMEOUT_MS,
    keepAlive: true,
  } satisfies PrimaryOptions,
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
  await refuseNewerSchema(dataSource);
}

/** TypeORM's type covers only what all drivers share; for type 'postgres', `master` is the pg pool. */
function poolOf(dataSource: DataSource): PrimaryPool {
  const { master } = dataSource.driver as unknown as { master: PrimaryPool };
  return master;
}

/** Connects as the pool under the data source does, but its users set the time limits of their statements. */
function secondPool(dataSource: DataSource, size: number): PrimaryPool {
  const { servers, options } = poolOf(dataSource);
  const limits = { query_timeout: undefined, connectionTimeoutMillis: CONNECT_TIMEOUT_MS };
  return new PrimaryPool({ ...options, ...limits, servers, max: size });
}

/** Opens a connection to the same database outside the pool, without a time limit on statements. The caller ends it. */
export function connectDedicated(dataSource: DataSource): Promise<pg.Client> {
  const { servers, options } = poolOf(dataSource);
  const limits = { query_timeout: 0, connectionTimeoutMillis: DEDICATED_CONNECT_TIMEOUT_MS };
  return servers.inTurn(() => new PrimaryClient({ ...options, servers, ...limits }).connect());
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
