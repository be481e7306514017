import type { Command } from 'commander';
import { describeRights, migrate, readSchemaState, refuseSupersededSchema } from '../database/index.js';
import { CheckFailed } from '../kernel/operator-error.js';
import { withExamples } from './help.js';
import { print } from './print.js';
import { type CommandDatabase, INSPECTS, MIGRATES, onDatabase } from './run-on-database.js';

export function migrateCommand(command: Command): void {
  command
    .option(
      '--check',
      'change nothing: print each pending migration and the missing rights, and end with 1 if there are any',
    )
    .action(({ check }: { check?: true }) =>
      check === true ? onDatabase(INSPECTS, checkMigrations) : onDatabase(MIGRATES, runMigrations),
    );
  withExamples(command, 'migrate --check', 'migrate');
}

async function runMigrations(database: CommandDatabase): Promise<void> {
  await migrate(database, () => Promise.resolve(), print);
  print('the database is current');
}

async function checkMigrations({ pool }: CommandDatabase): Promise<void> {
  await refuseSupersededSchema(pool);
  const state = await readSchemaState(pool);
  for (const name of state.pending) print(`pending migration: ${name}`);
  if (state.missing.length > 0) print(`missing rights of the role ${state.role}: ${describeRights(state.missing)}`);
  if (!state.isCurrent) throw new CheckFailed();
  print('the database is current');
}
