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

/** The database of the service, for a command. The first of STOP_SIGNALS aborts `interrupt`. */
export type CommandDatabase = Database & Required<MaintenanceDatabase>;

/** What a command needs from the database. Instances of the service may run at the same time. */
interface Needs {
  readonly mode: OpenMode;
  /**
   * `current`: refuse a database without exactly the migrations of this version. `run`: run those pending. `any`:
   * accept it.
   */
  readonly migrations: 'current' | 'run' | 'any';
  /** Names the database on stderr before the work begins, since work on the wrong one cannot be undone. */
  readonly namesTarget?: true;
}

/** It only runs SELECT, so a standby or a role without other rights is enough. It makes not even a temporary table. */
export const READS: Needs = { mode: 'read', migrations: 'current' };
/** It reads a database with any migrations. */
export const INSPECTS: Needs = { mode: 'read', migrations: 'any' };
/** It changes rows in a database that the service has made. */
export const WRITES: Needs = { mode: 'attach', migrations: 'current' };
/** It makes the tables, and a database in a DATA_DIR without one. */
export const CREATES: Needs = { mode: 'attach-or-create', migrations: 'run' };
/** It makes a database in the same way, but the work itself runs the migrations. */
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
  // The wait for an external server can be long, and may end at any point. An embedded server must be stopped first.
  mayEndAtOnce = config.databaseUrl !== undefined;
  try {
    // With DATABASE_URL these lines only tell of a wait. The embedded server writes its own log.
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

/** Takes the names from the connection, since DATABASE_URL may leave the port and the database to defaults. */
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

/** The first Ctrl-C lets the command end its work; the second ends the process. */
function interrupt(): void {
  if (mayEndAtOnce || interruption.signal.aborted) process.exit(reportFailure(interrupted()));
  interruption.abort();
}

const interrupted = (): Interrupted =>
  new Interrupted('interrupted; every change is either complete or undone, and the command can be run again');
