import { pipeline } from 'node:stream/promises';
import type { Command } from 'commander';
import { to } from 'pg-copy-streams';
import { DedicatedConnections, IN_INDEX_ORDER, type MaintenanceDatabase } from '../../database/index.js';
import { countLines, exportAll, exportQuery } from '../../event-log/index.js';
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
      'Write the log of an account to stdout: one event on a line, as JSON, with the exact bytes of its hash. With --all: a backup, which has the logs of all accounts, their checkpoints and alarms, bind decisions and times of last use, as of one moment. It holds the hashes of all keys',
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
  if (!all) return onDatabase(READS, (database) => exportLog(database, account, after ?? 0));
  if (account !== undefined) throw new UsageError('--all and --account exclude each other: leave one out');
  if (after !== undefined) throw new UsageError('--all and --after exclude each other: a backup begins at position 1');
  return onDatabase(INSPECTS, exportEverything);
}

async function exportLog(database: MaintenanceDatabase, wanted: string | undefined, after: number): Promise<void> {
  await DedicatedConnections.use(database, async (connections) => {
    const client = await connections.openTransaction();
    const { account, size } = await chosenAccount(client, wanted);
    const progress = progressOn(process.stderr);
    progress.begin(`export ${account}`, 'events', Math.max(0, size - after));
    // A sorted export would begin only once all of it has been read.
    await client.query(IN_INDEX_ORDER);
    const blocks = client.query(to(exportQuery(account, { after, upTo: size })));
    const counted = async function* () {
      for await (const block of blocks as AsyncIterable<Buffer>) {
        progress.add(countLines(block));
        yield block;
      }
    };
    await pipeline(counted, process.stdout, { end: false }).catch(ignoreReaderLeft);
    progress.done();
  });
}

async function exportEverything(database: MaintenanceDatabase): Promise<void> {
  if (process.stdout.isTTY) throw new UsageError('a backup is no text for a terminal: send it to a file or a program');
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
  console.error(`the head of a log does not have its length: ${damaged.join(', ')}; run audit verify`);
  throw new CheckFailed();
}

function reportReaderLeft(error: unknown): never {
  if (!(error instanceof Error && 'code' in error && error.code === 'EPIPE')) throw error;
  throw new OperatorError('what reads the export has ended before its last line: the backup is not complete');
}

/** A reader that takes only the beginning, as `head` does, has what it wanted. */
function ignoreReaderLeft(error: unknown): void {
  if (!(error instanceof Error && 'code' in error && error.code === 'EPIPE')) throw error;
}
