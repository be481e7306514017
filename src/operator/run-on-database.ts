import type { Pool } from 'pg';
import { misspelledIn, readConfig } from '../api/config/config.js';
import {
  type Database,
  type MaintenanceDatabase,
  migrate,
  type OpenMode,
  openDatabase,
  requireMigrations,
} from '../database/index.js';
import { Interrupted, STOP_SIGNALS } from '../kernel/operator-error.js';
import { reportFailure } from './exit-codes.js';

/** The service's database as a command gets it. The first of STOP_SIGNALS aborts `interrupt`. */
export type CommandDatabase = Database & Required<MaintenanceDatabase>;

/** What a command needs of the database. A running instance of the service goes on beside it, except beside `serve`. */
interface Needs {
  readonly mode: OpenMode;
  /** `current`: refuse a database whose migrations are not those of this version. `run`: run what is pending. `any`: as it is. */
  readonly migrations: 'current' | 'run' | 'any';
  /** It names its database on stderr before it begins: work on another one could not be undone. */
  readonly namesTarget?: true;
}

/** SELECT is all it needs: a standby will do, or a role that may do no more. It makes nothing, not even a temporary table. */
export const READS: Needs = { mode: 'read', migrations: 'current' };
/** It tells of the database as it is. */
export const INSPECTS: Needs = { mode: 'read', migrations: 'any' };
/** It changes rows of a database that the service has made. */
export const WRITES: Needs = { mode: 'attach', migrations: 'current' };
/** A database without tables gets them, and a DATA_DIR without a database gets one. */
export const CREATES: Needs = { mode: 'attach-or-create', migrations: 'run' };
/** The same, but the work itself migrates. */
export const MIGRATES: Needs = { mode: 'attach-or-create', migrations: 'any', namesTarget: true };

const interruption = new AbortController();
let mayEndAtOnce = false;

/** Runs a command on the service's database. */
export async function onDatabase(needs: Needs, work: (database: CommandDatabase) => Promise<void>): Promise<void> {
  for (const signal of STOP_SIGNALS) process.on(signal, interrupt);
  try {
    const database = await open(needs);
    try {
      interruption.signal.throwIfAborted();
      await prepare(needs, database);
      await work({ ...database, interrupt: interruption.signal });
    } finally {
      await database.close();
    }
  } catch (error) {
    throw interruption.signal.aborted ? interrupted() : error;
  }
}

async function open({ mode }: Needs): Promise<Database> {
  const config = readConfig(process.env);
  for (const problem of misspelledIn(process.env)) console.error(problem);
  // The wait for an external server can be long, and may end at any point. An embedded server must be stopped again.
  mayEndAtOnce = config.databaseUrl !== undefined;
  try {
    // With DATABASE_URL these lines are of a wait only; the embedded server logs its own.
    return await openDatabase(config, config.databaseUrl === undefined ? () => undefined : console.error, mode);
  } finally {
    mayEndAtOnce = false;
  }
}

async function prepare({ mode, migrations, namesTarget }: Needs, database: Database): Promise<void> {
  if (namesTarget === true) await nameTarget(database);
  if (mode === 'read') await tellOfStandby(database.pool);
  if (migrations === 'run') await migrate(database, () => Promise.resolve(), console.error);
  if (migrations === 'current') await requireMigrations(database.pool);
}

/** As the connection has it: DATABASE_URL may leave the port and the name to defaults. */
async function nameTarget({ pool, embedded, description }: Database): Promise<void> {
  const client = await pool.connect();
  const { host, port, database } = client;
  client.release();
  const place = host.startsWith('/') ? `the socket ${host}, port ${port}` : `${host}:${port}`;
  const server = embedded === undefined ? place : `${description} in ${embedded.clusterDir}`;
  console.error(`the target is the database ${database} at ${server}`);
}

async function tellOfStandby(pool: Pool): Promise<void> {
  const { rows } = await pool.query<{ is_standby: boolean }>('select pg_is_in_recovery() as is_standby');
  if (rows[0]?.is_standby === true) console.error('the server is a standby, which may lack the newest changes');
}

/** The first Ctrl-C ends the work in good order; the second ends the process. */
function interrupt(): void {
  if (mayEndAtOnce || interruption.signal.aborted) process.exit(reportFailure(interrupted()));
  interruption.abort();
}

const interrupted = (): Interrupted =>
  new Interrupted('interrupted; every change is either complete or undone, and the command can be run again');
