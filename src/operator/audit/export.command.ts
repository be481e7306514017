import { pipeline } from 'node:stream/promises';
import type { Command } from 'commander';
import { DedicatedConnections, IN_INDEX_ORDER, type MaintenanceDatabase } from '../../database/index.js';
import { exportAll, exportLog } from '../../event-log/index.js';
import { CheckFailed, OperatorError, UsageError } from '../../kernel/operator-error.js';
import { chosenAccount } from '../chosen-account.js';
import { withExamples } from '../help.js';
import { lowerPriority } from '../lower-priority.js';
import { progressOn } from '../progress.js';
import { INSPECTS, onDatabase, READS } from '../run-on-database.js';
import { Stopwatch } from '../stopwatch.js';
import { parsePosition } from './number-argument.js';

interface ExportOptions {
  readonly all: boolean;
  readonly account?: string;
  readonly after?: number;
}

export function addExportCommand(audit: Command): void {
  const command = audit
    .command('export')
    .description(
      'Write the log of an account to stdout: one event on a line, as JSON, with the exact bytes that were hashed. With --all, write a backup: the logs of all accounts, their checkpoints and alarms, bind decisions and times of last use, as of one moment. A backup holds the hashes of all keys',
    )
    .option('--account <id>', 'the account; may be left out when there is only one')
    .option('--after <position>', 'only the events after this position', parsePosition)
    .option('--all', 'all accounts and their records', false)
    .action(runExport);
  withExamples(
    command,
    'audit export > account.ndjson',
    'audit export --account ac_2Sd3gVzXW1vzFJpCFLqzmEJ9SgA --after 1000',
    'audit export --all | gzip > tunnel-access.ndjson.gz',
  );
}

async function runExport({ all, account, after }: ExportOptions): Promise<void> {
  if (!all) return onDatabase(READS, (database) => exportAccount(database, account, after ?? 0));
  if (account !== undefined) throw new UsageError('--all and --account exclude each other: leave one out');
  if (after !== undefined) throw new UsageError('--all and --after exclude each other: a backup begins at position 1');
  return onDatabase(INSPECTS, exportEverything);
}

async function exportAccount(database: MaintenanceDatabase, wanted: string | undefined, after: number): Promise<void> {
  await DedicatedConnections.use(database, async (connections) => {
    const client = await connections.openTransaction();
    const { account, size } = await chosenAccount(client, wanted);
    const progress = progressOn(process.stderr);
    progress.begin(`export ${account}`, 'events', Math.max(0, size - after));
    // Without this PostgreSQL may sort the whole log before it sends the first event.
    await client.query(IN_INDEX_ORDER);
    const blocks = exportLog(client, account, { after, upTo: size }, (count) => progress.add(count));
    await pipeline(blocks, process.stdout, { end: false }).catch(ignoreReaderLeft);
    progress.done();
  });
}

async function exportEverything(database: MaintenanceDatabase): Promise<void> {
  if (process.stdout.isTTY) throw new UsageError('a backup is not text for a terminal: send it to a file or a program');
  lowerPriority();
  const took = new Stopwatch();
  const progress = progressOn(process.stderr);
  const watcher = {
    begin: (account: string, total: number) => progress.begin(`export ${account}`, 'events', total),
    events: (count: number) => progress.add(count),
  };
  const { accounts, events, damaged } = await exportAll(database, process.stdout, watcher).catch(reportReaderLeft);
  progress.done();
  console.error(`exported ${events} events of ${accounts} accounts in ${took.total} s`);
  if (damaged.length === 0) return;
  console.error(`the head of a log does not match its length: ${damaged.join(', ')}; run audit verify`);
  throw new CheckFailed();
}

function reportReaderLeft(error: unknown): never {
  if (!(error instanceof Error && 'code' in error && error.code === 'EPIPE')) throw error;
  throw new OperatorError('the program that reads the export ended before the last line: the backup is not complete');
}

/** A reader may take only the beginning, as `head` does. */
function ignoreReaderLeft(error: unknown): void {
  if (!(error instanceof Error && 'code' in error && error.code === 'EPIPE')) throw error;
}
