import { stat } from 'node:fs/promises';
import type { Writable } from 'node:stream';
import type { Command } from 'commander';
import { writeBackup } from '../../backup/write-backup.js';
import type { MaintenanceDatabase } from '../../database/dedicated-connections.js';
import { UsageError } from '../../operator-error.js';
import { refuseExisting, writeWholeFile } from '../files/whole-file.js';
import { withExamples } from '../help.js';
import { lowerPriority } from '../lower-priority.js';
import { progressOn } from '../progress.js';
import { INSPECTS, onDatabase } from '../run-on-database.js';
import { Stopwatch } from '../stopwatch.js';

export function addBackupCommand(program: Command): void {
  const command = program
    .command('backup')
    .description(
      'Write everything that the database holds, as of one moment, into a file, while the service runs. The file holds the hashes of all keys, so only its owner can read it',
    )
    .argument('<file>', 'the new file; - for stdout')
    .option('--overwrite', 'replace the file if it exists', false)
    .action(runBackup);
  withExamples(command, 'backup tunnel-access.backup', 'backup - > /mnt/tunnel-access.backup');
}

async function runBackup(file: string, { overwrite }: { overwrite: boolean }): Promise<void> {
  if (file === '-') {
    if (process.stdout.isTTY) throw new UsageError('a backup is no text for a terminal: name a file');
    return onDatabase(INSPECTS, (database) => write(database, process.stdout));
  }
  // Before the database is opened: the operator hears of it at once.
  await refuseExisting(file, overwrite);
  return onDatabase(INSPECTS, async (database) => {
    await writeWholeFile(file, overwrite, (output) => write(database, output));
    console.error(`${file} has ${(await stat(file)).size.toLocaleString('en-US')} bytes`);
  });
}

async function write(database: MaintenanceDatabase, output: Writable): Promise<void> {
  lowerPriority();
  const took = new Stopwatch();
  const progress = progressOn(process.stderr);
  const { tables, rows } = await writeBackup(database, output, {
    begin: (table, total) => progress.begin(`backup ${table}`, 'rows', total),
    rows: (count) => progress.add(count),
  });
  progress.done();
  console.error(`backed up ${rows} rows of ${tables} tables in ${took.total} s`);
}
