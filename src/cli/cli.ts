#!/usr/bin/env node
import 'reflect-metadata';
import { Command, CommanderError } from 'commander';
import { ConfigError, readConfig } from '../config.js';
import { type Database, DatabaseUnusable, type OpenMode, openDatabase } from '../database/database.js';
import type { MaintenanceDatabase } from '../database/dedicated-connections.js';
import { EmbeddedPostgresError } from '../database/embedded/embedded-postgres-error.js';
import { PostgresFailure } from '../database/failure.js';
import { migrate } from '../database/migrate.js';
import { RebuildError } from '../log/rebuild/table-shape.js';
import { ReplayError } from '../log/replay/replay.js';
import { TableError } from '../log/replay/row-encoder.js';
import { LogFileError } from '../log/transfer/log-file.js';
import { Problem } from '../problem.js';
import { READ_MODELS } from '../read-models.js';
import { addAccountCommands, addApiKeyCommands } from './access.commands.js';
import { addAuditCommands } from './audit.commands.js';
import { CheckFailed, UsageError } from './exit-codes.js';
import { addLogFileCommands } from './log-file.commands.js';
import { addProjectionCommands } from './projections.commands.js';

/** Exit codes: 0 fine, 1 found something wrong, 2 misuse. Data goes to stdout, words for people to stderr. */
const EXIT_WRONG = 1;
const EXIT_MISUSE = 2;
/** Ended by SIGINT or SIGTERM: what shells expect, and neither of the above. */
const EXIT_INTERRUPTED = 130;

const say = (line: string): void => console.error(line);

const interruption = new AbortController();

/** The first Ctrl-C ends what is under way in good order; the second ends the process. */
function interrupt(): void {
  if (interruption.signal.aborted) process.exit(EXIT_INTERRUPTED);
  interruption.abort();
}

type Work = (place: Database & Required<MaintenanceDatabase>) => Promise<void>;

/** Runs `work` on the service's database, beside a running copy when there is one. */
const onDatabase = (work: Work): Promise<void> => run(work, 'attach');
const onAnyDatabase = (work: Work): Promise<void> => run(work, 'attach-or-create');

async function run(work: Work, as: OpenMode): Promise<void> {
  const database = await openDatabase(readConfig(process.env), () => undefined, as);
  process.on('SIGINT', interrupt).on('SIGTERM', interrupt);
  try {
    await migrate(database, () => Promise.resolve());
    await work({ ...database, interrupt: interruption.signal });
  } finally {
    await database.close();
  }
}

/** Errors whose message says to a person all there is to say. */
const EXPLAINED = [
  Problem,
  DatabaseUnusable,
  EmbeddedPostgresError,
  LogFileError,
  RebuildError,
  ReplayError,
  TableError,
];

function explain(error: unknown): string {
  if (!(error instanceof Error)) return String(error);
  if (PostgresFailure.of(error).isConnectionLoss) return `the database went away: ${error.message}`;
  // A file or a pipe of the operator's: the message names it, and the stack would only name us.
  if ('syscall' in error) return error.message;
  return EXPLAINED.some((kind) => error instanceof kind) ? error.message : (error.stack ?? error.message);
}

function exitCodeOf(error: unknown): number {
  if (interruption.signal.aborted) {
    say('interrupted; nothing was changed that is not whole, and the command can be run again');
    return EXIT_INTERRUPTED;
  }
  if (error instanceof CheckFailed) return EXIT_WRONG;
  if (error instanceof UsageError || (error instanceof Problem && error.status === 400)) {
    say(error.message);
    return EXIT_MISUSE;
  }
  if (error instanceof CommanderError) return error.exitCode === 0 ? 0 : EXIT_MISUSE;
  if (error instanceof ConfigError) {
    for (const problem of error.problems) say(problem);
    return EXIT_MISUSE;
  }
  say(explain(error));
  return EXIT_WRONG;
}

const program = new Command('tunnel-access')
  .description(
    'The operator’s commands. They use the same settings (environment) as the service, and are safe beside it.',
  )
  .exitOverride();
addAccountCommands(program, onAnyDatabase);
addApiKeyCommands(program, onDatabase);
const audit = program
  .command('audit')
  .description('The logs: what happened, to what and by whom, from the first event on');
addAuditCommands(audit, onDatabase);
addLogFileCommands(audit, { onDatabase, onAnyDatabase }, READ_MODELS);
addProjectionCommands(program, onDatabase, READ_MODELS);

// Whoever reads us may have enough, as `head` does; the database is closed all the same.
process.stdout.on('error', (error: NodeJS.ErrnoException) => {
  if (error.code !== 'EPIPE') throw error;
});

try {
  await program.parseAsync();
} catch (error) {
  process.exitCode = exitCodeOf(error);
}
