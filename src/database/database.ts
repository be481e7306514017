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
  /** The PostgreSQL server to use. Undefined: the embedded one, with its data under `dataDir`. */
  readonly databaseUrl: string | undefined;
  /** The same database, with the role that owns its tables. Undefined: the role of `databaseUrl` owns them. */
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
  /** Whether a role other than the service's owns the tables. */
  readonly hasOwner: boolean;
  /** Runs `work` as the role that owns the tables. */
  asOwner<T>(work: (owner: PrimaryPool) => Promise<T>): Promise<T>;
  close(): Promise<void>;
}

/**
 * How a program opens the database. `serve` starts the embedded server, which only one instance can do; `attach` uses
 * the server of a running instance, or starts it on existing data. `attach-or-create` also creates missing data, and
 * `read` is `attach` that also accepts a standby or a read-only server.
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

interface FoundServer {
  readonly server: DatabaseServer;
  /** The embedded server, if this process has started it. */
  readonly embedded: EmbeddedPostgres | undefined;
}

async function findServer(
  { databaseUrl, dataDir, mayMakeDatabase = true, ...pools }: DatabaseOptions,
  log: (line: string) => void,
  mode: OpenMode,
): Promise<FoundServer> {
  if (databaseUrl !== undefined) return { server: parseDatabaseUrl(databaseUrl), embedded: undefined };
  ignoreLibpqVariables();
  const pooled = pools.databasePoolSize + pools.auditReadConnections;
  const found = mode === 'serve' ? undefined : await attachEmbedded({ dataDir, log, pooled });
  if (found !== undefined) return found;
  if (['attach', 'read'].includes(mode)) {
    const text = `there is no database in DATA_DIR ${path.resolve(dataDir)}: set DATA_DIR or DATABASE_URL to the value that the service uses`;
    throw new OperatorError(text);
  }
  if (!mayMakeDatabase && !(await hasData(dataDir))) {
    const text =
      'NODE_ENV is production, and neither DATABASE_URL nor DATA_DIR is set: set DATABASE_URL to your PostgreSQL, or DATA_DIR to the ' +
      `folder where an embedded one is to be made; ${path.resolve(dataDir)} has none`;
    throw new OperatorError(text);
  }
  const embedded = await startEmbeddedPostgres({ dataDir, log, pooled });
  return { server: serverOf(embedded), embedded };
}

/** pg would send PGOPTIONS, PGTZ and similar variables to the embedded server. Their user means another server. */
function ignoreLibpqVariables(): void {
  for (const name of Object.keys(process.env)) if (/^PG[A-Z_]+$/.test(name)) delete process.env[name];
}

/**
 * Finds the server that an instance runs on this DATA_DIR, or starts one on the data that is there. Undefined: there is
 * no data.
 */
export async function attachEmbedded(
  options: Parameters<typeof startEmbeddedPostgres>[0],
): Promise<FoundServer | undefined> {
  const running = await findRunningPostgres(options.dataDir);
  if (running !== undefined) return { server: serverOf(running), embedded: undefined };
  if (!(await hasData(options.dataDir))) return undefined;
  const embedded = await startEmbeddedPostgres(options);
  return { server: serverOf(embedded), embedded };
}

const serverOf = ({ host, port, user }: Pick<EmbeddedPostgres, 'host' | 'port' | 'user'>): DatabaseServer => ({
  name: 'embedded PostgreSQL',
  config: { host, port, user, database: 'postgres' },
  encryption: false,
});
