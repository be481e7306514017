import { readConfig } from '../config.js';
import { type Database, type OpenMode, openDatabase } from '../database/database.js';
import type { MaintenanceDatabase } from '../database/dedicated-connections.js';
import { migrate } from '../database/migrate.js';
import { Interrupted, STOP_SIGNALS } from '../operator-error.js';
import { reportFailure } from './exit-codes.js';

/** The service's database as a command gets it. The first of STOP_SIGNALS aborts `interrupt`. */
export type CommandDatabase = Database & Required<MaintenanceDatabase>;

type Work = (database: CommandDatabase) => Promise<void>;
type OnDatabase = (work: Work) => Promise<void>;

/** Runs a command on the service's database, beside a running instance if there is one. Refuses a DATA_DIR without a database. */
export const onExistingDatabase: OnDatabase = (work) => run(work, 'attach');
/** The same, but a DATA_DIR without a database gets one. */
export const onExistingOrNewDatabase: OnDatabase = (work) => run(work, 'attach-or-create');
/** The same as onExistingDatabase, but it migrates nothing, so a role that may only SELECT is enough. */
export const onUnchangedDatabase: OnDatabase = (work) => run(work, 'attach', { migrates: false });
/** For a restore: no instance may run on the DATA_DIR, which gets a database if it has none. The work itself migrates. */
export const onOwnDatabase: OnDatabase = (work) => run(work, 'serve', { migrates: false });

const interruption = new AbortController();
let mayEndAtOnce = false;

async function run(work: Work, mode: OpenMode, { migrates } = { migrates: true }): Promise<void> {
  for (const signal of STOP_SIGNALS) process.on(signal, interrupt);
  try {
    await openAndRun(work, mode, migrates);
  } catch (error) {
    throw interruption.signal.aborted ? interrupted() : error;
  }
}

async function openAndRun(work: Work, mode: OpenMode, migrates: boolean): Promise<void> {
  const database = await open(mode);
  try {
    interruption.signal.throwIfAborted();
    if (migrates) await migrate(database, () => Promise.resolve());
    await work({ ...database, interrupt: interruption.signal });
  } finally {
    await database.close();
  }
}

async function open(mode: OpenMode): Promise<Database> {
  const config = readConfig(process.env);
  // The wait for an external server can be long, and may end at any point. An embedded server must be stopped again.
  mayEndAtOnce = config.databaseUrl !== undefined;
  try {
    return await openDatabase(config, () => undefined, mode);
  } finally {
    mayEndAtOnce = false;
  }
}

/** The first Ctrl-C ends the work in good order; the second ends the process. */
function interrupt(): void {
  if (mayEndAtOnce || interruption.signal.aborted) process.exit(reportFailure(interrupted()));
  interruption.abort();
}

const interrupted = (): Interrupted =>
  new Interrupted('interrupted; every change is either complete or undone, and the command can be run again');
