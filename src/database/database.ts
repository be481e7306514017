import path from 'node:path';
import { OperatorError } from '../kernel/operator-error.js';
import { connect, secondPool } from './connect.js';
import { type DatabaseServer, describeDatabase, parseDatabaseUrl } from './database-url.js';
import {
  type EmbeddedPostgres,
  findRunningPostgres,
  hasData,
  startEmbeddedPostgres,
} from './embedded/embedded-postgres.js';
import type { PrimaryPool } from './primary-pool.js';

/** Injection token of the database's pool. */
export const POOL = Symbol('pg pool');

/** The settings that `openDatabase` needs. */
export interface DatabaseOptions {
  /** A PostgreSQL server to use; undefined: the embedded one, with its data under `dataDir`. */
  readonly databaseUrl: string | undefined;
  /** The same database, with the role that owns its tables; undefined: the role of `databaseUrl` owns them. */
  readonly migrationDatabaseUrl?: string | undefined;
  readonly dataDir: string;
  /** Whether an embedded database may be made where there is none. Absent: true. */
  readonly mayMakeDatabase?: boolean;
  readonly databasePoolSize: number;
  readonly auditReadConnections: number;
  /** False behind a pooler that shares sessions and knows no named statements, such as PgBouncer 1.18. Absent: true. */
  readonly preparedStatements?: boolean;
}

/** An open database, with its pools. */
export interface Database {
  readonly pool: PrimaryPool;
  /** The connections of reads that can cost much (AuditReads). They open when they are needed. */
  readonly auditReadPool: PrimaryPool;
  /** Names the database for people. Never holds a password. */
  readonly description: string;
  /** Undefined if DATABASE_URL names the server. */
  readonly embedded: EmbeddedPostgres | undefined;
  /** Whether another role than the service's owns the tables. */
  readonly hasOwner: boolean;
  /** Runs `work` as the role that owns the tables. */
  asOwner<T>(work: (owner: PrimaryPool) => Promise<T>): Promise<T>;
  close(): Promise<void>;
}

/**
 * `serve`: start the embedded server, as only one instance of the service can. `attach`: use the server of a running
 * instance, else start it on existing data. `attach-or-create`: the same, but create the data if there is none. `read`: as
 * `attach`, and a standby or a read-only server will do.
 */
export type OpenMode = 'serve' | 'attach' | 'attach-or-create' | 'read';

/** Connects, and starts the embedded server if DATABASE_URL is not set and `mode` allows it. Does not migrate. */
export async function openDatabase(
  options: DatabaseOptions,
  log: (line: string) => void,
  mode: OpenMode = 'serve',
): Promise<Database> {
  const { server, embedded } = await findServer(options, log, mode);
  try {
    const place = { setting: 'DATABASE_URL', server };
    const pool = await connect(place, { ...options, readsOnly: mode === 'read' }, log);
    const auditReadPool = secondPool(pool, options.auditReadConnections);
    const disconnect = async (): Promise<void> => {
      if (!auditReadPool.ended) await auditReadPool.end();
      if (!pool.ended) await pool.end();
    };
    return {
      pool,
      auditReadPool,
      description: options.databaseUrl === undefined ? 'embedded PostgreSQL' : describeDatabase(options.databaseUrl),
      embedded,
      hasOwner: options.migrationDatabaseUrl !== undefined,
      asOwner: (work) => runAsOwner(options, pool, log, work),
      close: async () => {
        await disconnect();
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
  service: PrimaryPool,
  log: (line: string) => void,
  work: (owner: PrimaryPool) => Promise<T>,
): Promise<T> {
  if (options.migrationDatabaseUrl === undefined) return work(service);
  const place = { setting: 'MIGRATION_DATABASE_URL', server: parseDatabaseUrl(options.migrationDatabaseUrl) };
  const owner = await connect(place, options, log);
  try {
    return await work(owner);
  } finally {
    await owner.end();
  }
}

async function findServer(
  { databaseUrl, dataDir, mayMakeDatabase = true, ...pools }: DatabaseOptions,
  log: (line: string) => void,
  mode: OpenMode,
): Promise<{ server: DatabaseServer; embedded: EmbeddedPostgres | undefined }> {
  if (databaseUrl !== undefined) return { server: parseDatabaseUrl(databaseUrl), embedded: undefined };
  ignoreLibpqVariables();
  const running = mode === 'serve' ? undefined : await findRunningPostgres(dataDir);
  if (running !== undefined) return { server: embeddedServer(running), embedded: undefined };
  if (['attach', 'read'].includes(mode) && !(await hasData(dataDir))) {
    const text = `there is no database in DATA_DIR ${path.resolve(dataDir)}: set DATA_DIR or DATABASE_URL to the value that the service uses`;
    throw new OperatorError(text);
  }
  if (!mayMakeDatabase && !(await hasData(dataDir))) {
    const text =
      'NODE_ENV is production, and neither DATABASE_URL nor DATA_DIR is set: set DATABASE_URL to your PostgreSQL, or DATA_DIR to the ' +
      `folder where an embedded one is to be made; ${path.resolve(dataDir)} has none`;
    throw new OperatorError(text);
  }
  const pooled = pools.databasePoolSize + pools.auditReadConnections;
  const embedded = await startEmbeddedPostgres({ dataDir, log, pooled });
  return { server: embeddedServer(embedded), embedded };
}

/** PGOPTIONS, PGTZ and their like are about servers of people who work with PostgreSQL; pg would send them to ours. */
function ignoreLibpqVariables(): void {
  for (const name of Object.keys(process.env)) if (/^PG[A-Z_]+$/.test(name)) delete process.env[name];
}

/** The embedded server as one to connect to. */
export const embeddedServer = ({
  host,
  port,
  user,
}: Pick<EmbeddedPostgres, 'host' | 'port' | 'user'>): DatabaseServer => ({
  name: 'embedded PostgreSQL',
  config: { host, port, user, database: 'postgres' },
  encryption: false,
});
