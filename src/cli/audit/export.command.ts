import { pipeline } from 'node:stream/promises';
import type { Command } from 'commander';
import { to } from 'pg-copy-streams';
import { countLines, tapped } from '../../backup/backup-file.js';
import { IN_INDEX_ORDER } from '../../database/cursor.js';
import { DedicatedConnections, type MaintenanceDatabase } from '../../database/dedicated-connections.js';
import { exportQuery } from '../../log/transfer/log-file.js';
import { chosenAccount } from '../chosen-account.js';
import { withExamples } from '../help.js';
import { progressOn } from '../progress.js';
import { onDatabase, READS } from '../run-on-database.js';
import { parsePosition } from './number-argument.js';

export function addExportCommand(audit: Command): void {
  const command = audit
    .command('export')
    .description(
      'Write the log of an account to stdout: one event on a line, as JSON, with the exact bytes of its hash',
    )
    .option('--account <id>', 'the account; may be left out when there is only one')
    .option('--after <position>', 'only the events after this position', parsePosition, 0)
    .action(({ account, after }: { account?: string; after: number }) =>
      onDatabase(READS, (database) => exportLog(database, account, after)),
    );
  withExamples(
    command,
    'audit export > account.ndjson',
    'audit export --account ac_2Sd3gVzXW1vzFJpCFLqzmEJ9SgA --after 1000',
  );
}

async function exportLog(database: MaintenanceDatabase, wanted: string | undefined, after: number): Promise<void> {
  await DedicatedConnections.use(database, async (connections) => {
    const client = await connections.openTransaction();
    const { account, size } = await chosenAccount(client, wanted);
    const progress = progressOn(process.stderr);
    progress.begin(`export ${account}`, 'events', Math.max(0, size - after));
    // A sorted export would begin only once all of it has been read.
    await client.query(IN_INDEX_ORDER);
    const lines = client.query(to(exportQuery(account, { after, upTo: size })));
    const counted = (blocks: AsyncIterable<Buffer>) => tapped(blocks, (block) => progress.add(countLines(block)));
    await pipeline(lines, counted, process.stdout, { end: false }).catch(ignoreReaderLeft);
    progress.done();
  });
}

/** A reader that takes only the beginning, as `head` does, has what it wanted. */
function ignoreReaderLeft(error: unknown): void {
  if (!(error instanceof Error && 'code' in error && error.code === 'EPIPE')) throw error;
}
