import { addAbortSignal, type Readable } from 'node:stream';
import type { Command } from 'commander';
import { importLog } from '../../log/transfer/log-import.js';
import { CheckFailed } from '../../operator-error.js';
import { READ_MODELS } from '../../read-models.js';
import { withExamples } from '../help.js';
import { printProof } from '../printed-proof.js';
import { type Progress, progressOn } from '../progress.js';
import { type CommandDatabase, CREATES, onDatabase } from '../run-on-database.js';
import { Stopwatch } from '../stopwatch.js';
import { warnOfImported } from './import-warnings.js';
import { openInput } from './input-file.js';
import { linesOf } from './ndjson.js';

export function addImportCommand(audit: Command): void {
  const command = audit
    .command('import')
    .description(
      'Write an exported log, and the table rows that follow from it, into a database in which the account has no log',
    )
    .argument('<file>', 'a file that audit export wrote; - for stdin')
    .action(async (file: string) => {
      // Before the database is opened: the operator hears of a mistyped name at once.
      const input = await openInput(file, 'audit export');
      await onDatabase(CREATES, (database) => runImport(database, input));
    });
  withExamples(command, 'audit import account.ndjson', 'audit import - < account.ndjson');
}

/** A log that was just imported has no checkpoints of this database yet. */
const NO_KEYS = (): readonly never[] => [];

async function runImport(database: CommandDatabase, input: Readable): Promise<void> {
  const progress = progressOn(process.stderr);
  const account = await importFrom(input, database, progress);
  await warnOfImported(database, account);
  const { rows, differences } = await printProof(database, READ_MODELS, { account, keysOf: NO_KEYS }, progress);
  if (differences > 0) throw new CheckFailed();
  console.error(`${rows} rows made of them, and proven`);
}

/** Returns the account of the log. */
async function importFrom(input: Readable, database: CommandDatabase, progress: Progress): Promise<string> {
  // A read that waits for the next line would not notice that the database connection was ended.
  addAbortSignal(database.interrupt, input);
  // The reader of the lines gets the error. It may come before that reader listens, and would then end the process.
  input.on('error', () => undefined);
  const stopwatch = new Stopwatch();
  const { account, events } = await importLog(database, READ_MODELS, linesOf(input), {
    step: (what, total) => progress.begin(what, 'events', total),
    events: (count) => progress.add(count),
  });
  progress.done();
  console.error(`imported ${events} events of account ${account} in ${stopwatch.total} s`);
  return account;
}
