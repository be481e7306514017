import { addAbortSignal, type Readable } from 'node:stream';
import type { Command } from 'commander';
import { READ_MODELS } from '../../api/read-models.js';
import { type ImportedLog, importLogs } from '../../event-log/index.js';
import { CheckFailed } from '../../kernel/operator-error.js';
import { checkpointKeys } from '../checkpoint-keys.js';
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
      'Import an exported log, or a backup, into a database where its accounts have no log, and make the table rows from it. Then check both as audit verify and projections prove do. After an interruption import the same backup again: it goes on after the last complete account',
    )
    .argument('<file>', 'a file that audit export wrote; - for stdin')
    .action(async (file: string) => {
      // Opened before the database, so that the operator hears of a mistyped name at once.
      const input = await openInput(file, 'audit export');
      await onDatabase(CREATES, (database) => runImport(database, input));
    });
  withExamples(command, 'audit import account.ndjson', 'zcat tunnel-access.ndjson.gz | audit import -');
}

async function runImport(database: CommandDatabase, input: Readable): Promise<void> {
  const keys = await checkpointKeys([]);
  const progress = progressOn(process.stderr);
  const logs = await importFrom(input, database, progress);
  if (logs.haveCheckpoints) keys.tellIfNone();
  const [account] = logs.accounts.size === 1 ? logs.accounts : [];
  if (account !== undefined) await warnOfImported(database, account);
  const { rows, differences } = await printProof(database, READ_MODELS, { account, keys }, progress);
  if (differences > 0) {
    console.error(`the file is imported, but the checks found ${differences} faults and differences`);
    throw new CheckFailed();
  }
  console.error(`${rows} rows made from these events, and proven`);
}

interface ImportedLogs {
  readonly accounts: ReadonlySet<string>;
  readonly haveCheckpoints: boolean;
}

async function importFrom(input: Readable, database: CommandDatabase, progress: Progress): Promise<ImportedLogs> {
  // A read that waits for the next line would not notice that the database connection was ended.
  addAbortSignal(database.interrupt, input);
  // The reader of the lines reports the error. Without this listener an error that comes earlier would end the process.
  input.on('error', () => undefined);
  const accounts = new Set<string>();
  let haveCheckpoints = false;
  let stopwatch = new Stopwatch();
  const watcher = {
    step: (what: string, total?: number) => progress.begin(what, 'events', total),
    events: (count: number) => progress.add(count),
  };
  for await (const log of importLogs(database, READ_MODELS, linesOf(input), watcher)) {
    progress.done();
    if (log.account === '' && log.wasHere) console.error('the records that belong to no account are here already');
    if (log.account === '') continue;
    accounts.add(log.account);
    haveCheckpoints ||= (log.signed ?? 0) > 0;
    console.error(lineOf(log, stopwatch.total));
    stopwatch = new Stopwatch();
  }
  return { accounts, haveCheckpoints };
}

function lineOf({ account, events, wasHere, signed }: ImportedLog, seconds: string): string {
  const what = `${events} events of account ${account}`;
  const isSigned = signed === undefined ? '' : `, with checkpoints up to position ${signed}`;
  return wasHere ? `${what} are here already${isSigned}` : `imported ${what} in ${seconds} s${isSigned}`;
}
