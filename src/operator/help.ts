import type { Command } from 'commander';
import { EXIT, EXIT_MEANINGS } from './exit-codes.js';

const ENVIRONMENT = `
Environment:
  DATABASE_URL  the PostgreSQL that the service uses, such as
                postgres://user:password@db.example.com:5432/tunnel_access
  MIGRATION_DATABASE_URL
                the same database with the role that owns its tables, if
                the role of DATABASE_URL does not
  DATA_DIR      without DATABASE_URL: the folder of the service's embedded
                PostgreSQL (default: ./data)
docs/settings.md has the other variables. start and doctor read all of them.`;

/** Adds examples and settings to the end of a command's help. `examples`: arguments of the program. */
export const withExamples = (command: Command, ...examples: readonly string[]): Command =>
  withEnd(command, examples, ENVIRONMENT);

/** Adds examples to the help of a command that needs no database and no settings. */
export const withOfflineExamples = (command: Command, ...examples: readonly string[]): Command =>
  withEnd(command, examples, '\nIt needs no database and reads no settings.');

function withEnd(command: Command, examples: readonly string[], end: string): Command {
  const lines = examples.map((example) => `  $ tunnel-access ${example}`);
  return command.addHelpText('after', ['', 'Examples:', ...lines, end].join('\n'));
}

/** Adds the meanings of the exit codes to the end of the program's help. */
export function withExitCodes(program: Command): Command {
  const names = Object.keys(EXIT) as (keyof typeof EXIT)[];
  const lines = names.map((name) => `  ${String(EXIT[name]).padEnd(5)}${EXIT_MEANINGS[name]}`);
  return program.addHelpText('after', ['', 'Exit codes:', ...lines].join('\n'));
}
