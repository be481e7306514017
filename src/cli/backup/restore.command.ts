import { addAbortSignal } from 'node:stream';
import type { Command } from 'commander';
import { BackupReader } from '../../backup/read-backup.js';
import { restoreBackup } from '../../backup/restore-backup.js';
import { CheckFailed } from '../../operator-error.js';
import { READ_MODELS } from '../../read-models.js';
import { openInput } from '../audit/input-file.js';
import { withExamples } from '../help.js';
import { printProof } from '../printed-proof.js';
import { progressOn } from '../progress.js';
import { type CommandDatabase, onDatabase, RESTORES } from '../run-on-database.js';
import { Stopwatch } from '../stopwatch.js';

export function addRestoreCommand(program: Command): void {
  const command = program
    .command('restore')
    .description(
      'Write a backup into an empty database on which no instance runs, all of it or nothing; compare every table with the file, and check the logs and the tables as audit verify and projections prove do',
    )
    .argument('<file>', 'a file that backup wrote; - for stdin')
    .action(runRestore);
  withExamples(command, 'restore tunnel-access.backup', 'restore - < tunnel-access.backup');
}

async function runRestore(file: string): Promise<void> {
  await checkFile(file);
  await onDatabase(RESTORES, async (database) => {
    await restoreFrom(file, database);
    const keysOf = (): readonly never[] => [];
    const { rows, differences } = await printProof(database, READ_MODELS, { keysOf }, progressOn(process.stderr));
    const result = differences === 0 ? 'all in order' : `${differences} faults and differences`;
    console.error(`logs checked, and ${rows} rows of tables compared with them: ${result}`);
    if (differences === 0) return console.error('the restored database is complete and proven');
    console.error('the database holds what the backup holds, but is not in order: see above');
    throw new CheckFailed();
  });
}

/** Reads all of the file before the database is opened or made: what is damaged takes no time of the operator. */
async function checkFile(file: string): Promise<void> {
  if (file === '-') return;
  const progress = progressOn(process.stderr);
  const backup = await BackupReader.open(await openInput(file, 'backup'));
  await backup.readInto({
    table: async ({ table }, rows) => {
      progress.begin(`read ${table}`, 'bytes');
      for await (const block of rows) progress.add(block.length);
    },
  });
  progress.done();
}

async function restoreFrom(file: string, database: CommandDatabase): Promise<void> {
  const took = new Stopwatch();
  const progress = progressOn(process.stderr);
  // A read that waits for stdin would not notice that the database connection was ended.
  const input = addAbortSignal(database.interrupt, await openInput(file, 'backup'));
  input.on('error', () => undefined);
  const backup = await BackupReader.open(input);
  const tables = await restoreBackup(database, backup, {
    begin: (table, total) => progress.begin(`restore ${table}`, 'rows', total),
    rows: (count) => progress.add(count),
  });
  progress.done();
  const rows = [...tables.values()].reduce((sum, table) => sum + table.rows, 0);
  console.error(`restored ${rows} rows of ${tables.size} tables of ${backup.header.created_at} in ${took.total} s`);
}
