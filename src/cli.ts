import 'reflect-metadata';
import { Command, CommanderError } from 'commander';
import { addAccountCommands, addApiKeyCommands } from './access/access.cli.js';
import { addAuditCommands } from './audit/audit.cli.js';
import { ConfigError, readConfig } from './config.js';
import { type Database, DatabaseUnusable, openDatabase } from './database/database.js';
import { EmbeddedPostgresError } from './database/embedded/embedded-postgres.js';
import { migrate } from './database/migrate.js';
import { Problem } from './problem.js';

/** Exit codes: 0 fine, 1 found something wrong, 2 misuse. Data goes to stdout, words for people to stderr. */
const EXIT_WRONG = 1;
const EXIT_MISUSE = 2;

const say = (line: string): void => console.error(line);

/** Runs `work` on the service's database, beside a running copy when there is one. */
async function onDatabase(work: (database: Database) => Promise<void>): Promise<void> {
  const database = await openDatabase(readConfig(process.env), () => undefined, 'beside a running copy');
  try {
    await migrate(database, () => Promise.resolve());
    await work(database);
  } finally {
    await database.close();
  }
}

function exitCodeOf(error: unknown): number {
  if (error instanceof CommanderError) return error.exitCode === 0 ? 0 : EXIT_MISUSE;
  if (error instanceof ConfigError) {
    for (const problem of error.problems) say(problem);
    return EXIT_MISUSE;
  }
  const isExplained =
    error instanceof Problem || error instanceof DatabaseUnusable || error instanceof EmbeddedPostgresError;
  say(isExplained ? error.message : error instanceof Error ? (error.stack ?? error.message) : String(error));
  return EXIT_WRONG;
}

const program = new Command('tunnel-access')
  .description(
    'The operator’s commands. They use the same settings (environment) as the service, and are safe beside it.',
  )
  .exitOverride();
addAccountCommands(program, onDatabase);
addApiKeyCommands(program, onDatabase);
addAuditCommands(program.command('audit').description('The log: what happened, to what, by whom'), onDatabase);

// Whoever reads us may stop reading, as `head` does.
process.stdout.on('error', (error: NodeJS.ErrnoException) => process.exit(error.code === 'EPIPE' ? 0 : EXIT_WRONG));

try {
  await program.parseAsync();
} catch (error) {
  process.exitCode = exitCodeOf(error);
}
