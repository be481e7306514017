import type pg from 'pg';
import { retry } from '../kernel/network/retry.js';
import { OperatorError } from '../kernel/operator-error.js';
import { isTransient, withAdvice } from './connection/advice.js';
import type { DatabaseServer } from './database-url.js';
import { PrimaryClient, PrimaryPool } from './primary-pool.js';
import { onlyRow } from './query.js';
import { type Queryable, refuseSupersededSchema } from './schema/migrations.js';

/** The oldest version of PostgreSQL that the service takes, as `server_version_num`. */
const MIN_POSTGRES_VERSION = 140_000;
/** A schema that is there but closed to the role is no lack of a schema: the start names the right that is missing. */
const SUITABILITY = `select current_setting('server_version_num')::int as version, current_setting('server_encoding') as encoding,
  current_schema() is not null or exists (select from pg_namespace where nspname = any (string_to_array(
    translate(replace(current_setting('search_path'), '$user', session_user), '" ', ''), ','))) as "hasSchema",
  current_setting('search_path') as "searchPath",
  quote_ident(session_user) as role, quote_ident(current_database()) as database`;
/** Bounds both the making of a connection and the wait for a free connection of the pool. */
const CONNECT_TIMEOUT_MS = 2_500;
/** Long work may wait longer for its connection than a request. */
const DEDICATED_CONNECT_TIMEOUT_MS = 10_000;
/** For statements without their own deadline: those of the start and of commands. */
const QUERY_TIMEOUT_MS = 30_000;
/** How long a start waits for a database that does not run yet, for example in a compose file. */
const WAIT_FOR_DATABASE_MS = 30_000;
const BETWEEN_CONNECTS_MS = 500;
/** A longer wait is reported, with its end. */
const SILENT_WAIT_MS = 1_500;

type Log = (line: string) => void;

/** A server, and the setting that names it. */
interface Place {
  readonly setting: string;
  readonly server: DatabaseServer;
}

interface ConnectionOptions {
  readonly databasePoolSize: number;
  /** False behind a pooler that shares sessions and knows no named statements, such as PgBouncer 1.18. Absent: true. */
  readonly preparedStatements?: boolean;
  /** Whether a standby or a read-only server is accepted. Absent: false. */
  readonly readsOnly?: boolean;
}

/** Waits for a server that is not up yet. Throws OperatorError if the service cannot use the database. */
export async function connect(place: Place, options: ConnectionOptions, log: Log): Promise<PrimaryPool> {
  const { databasePoolSize, preparedStatements = true, readsOnly = false } = options;
  const pool = new PrimaryPool({
    server: place.server,
    preparedStatements,
    readsOnly,
    application_name: 'tunnel-access',
    max: databasePoolSize,
    connectionTimeoutMillis: CONNECT_TIMEOUT_MS,
    query_timeout: QUERY_TIMEOUT_MS,
    keepAlive: true,
  });
  try {
    await untilUsable(place, log, async () => {
      await requireSuitableServer(pool);
      // An export also reads a database from before 1.0.
      if (!readsOnly) await refuseSupersededSchema(pool);
    });
    return pool;
  } catch (error) {
    await pool.end();
    throw error;
  }
}

async function untilUsable({ setting, server }: Place, log: Log, check: () => Promise<void>): Promise<void> {
  let reason = `${server.name || 'the local socket'} did not answer yet`;
  const tell = (): void => log(`waiting up to ${WAIT_FOR_DATABASE_MS / 1000} s for the database: ${reason}`);
  const notice = setTimeout(tell, SILENT_WAIT_MS);
  try {
    await retry(check, {
      pausesMs: [BETWEEN_CONNECTS_MS],
      isTransient: (error) => !(error instanceof OperatorError) && isTransient(error),
      deadline: performance.now() + WAIT_FOR_DATABASE_MS,
      failed: (error) => {
        reason = withAdvice(error, setting);
      },
    });
  } catch (error) {
    if (error instanceof OperatorError) throw error;
    throw new OperatorError(`the database cannot be used: ${withAdvice(error, setting)}`);
  } finally {
    clearTimeout(notice);
  }
}

async function requireSuitableServer(pool: PrimaryPool): Promise<void> {
  const { version, isTooOld, encoding, lackOfSchema } = await readSuitability(pool);
  if (isTooOld) {
    throw new OperatorError(`the service needs PostgreSQL 14 or newer; the server reports version ${version}`);
  }
  if (encoding !== 'UTF8') {
    throw new OperatorError(`the database's encoding is ${encoding}; create it with encoding 'UTF8'`);
  }
  if (lackOfSchema !== undefined) throw new OperatorError(lackOfSchema);
}

interface Suitability {
  /** The server's `server_version_num`. */
  readonly version: number;
  readonly isTooOld: boolean;
  readonly encoding: string;
  /** Says that the search_path leads to no schema, and what to do. Undefined: it leads to one. */
  readonly lackOfSchema: string | undefined;
}

interface Found extends Pick<Suitability, 'version' | 'encoding'> {
  readonly hasSchema: boolean;
  readonly searchPath: string;
  readonly role: string;
  readonly database: string;
}

/** Reads whether the service can use a database: PostgreSQL 14 or newer, with the encoding UTF8, and a schema. */
export async function readSuitability(database: Queryable): Promise<Suitability> {
  const { version, encoding, ...found } = onlyRow((await database.query<Found>(SUITABILITY)).rows);
  const isTooOld = version < MIN_POSTGRES_VERSION;
  return { version, isTooOld, encoding, lackOfSchema: found.hasSchema ? undefined : describeLackOfSchema(found) };
}

const describeLackOfSchema = ({ searchPath, role, database }: Omit<Found, 'version' | 'encoding'>): string =>
  `the search_path '${searchPath}' names no schema that the role ${role} may use: make one (create schema authorization ${role}), ` +
  `or name one that is there: alter role ${role} in database ${database} set search_path = public`;

/** Makes another pool to the same server. Its users set the time limits of their statements. */
export const secondPool = ({ settings }: PrimaryPool, size: number): PrimaryPool =>
  new PrimaryPool({ ...settings, query_timeout: undefined, max: size });

/** Opens a connection to the same database outside the pool, without a time limit on statements. The caller ends it. */
export function connectDedicated({ settings }: PrimaryPool): Promise<pg.Client> {
  const limits = { query_timeout: 0, connectionTimeoutMillis: DEDICATED_CONNECT_TIMEOUT_MS };
  return new PrimaryClient({ ...settings, ...limits }).connect();
}
