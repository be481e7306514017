import type { Command } from 'commander';
import { CloudEvents } from '../../../audit/cloud-events.js';
import { UsageError } from '../../../operator-error.js';
import { READ_MODELS } from '../../../read-models.js';
import { chosenAccount } from '../../chosen-account.js';
import { withExamples } from '../../help.js';
import { tell } from '../../print.js';
import { type CommandDatabase, onDatabase, READS } from '../../run-on-database.js';
import { isPrivate, parseUrl } from '../http/http-url.js';
import { parsePosition, wholeNumber } from '../number-argument.js';
import { Collector } from './collector.js';
import { LogPush } from './log-push.js';
import { type Cursor, readCursor, requireWritable, writeCursor } from './push-cursor.js';
import { readSecrets } from './signature.js';

const DEFAULT_CURSOR = 'audit-push.cursor';
const [DEFAULT_BATCH, MAX_BATCH] = [500, 1_000];
const parseBatch = wholeNumber(1, MAX_BATCH, `It must be 1 to ${MAX_BATCH}.`);

interface PushOptions {
  readonly to: URL;
  readonly account?: string;
  readonly after?: number;
  readonly cursor: string;
  readonly secretFile?: string;
  readonly batch: number;
  readonly once?: boolean;
}

export function addPushCommand(audit: Command): void {
  const command = audit
    .command('push')
    .description(
      'Send the log of an account to an HTTP collector as batches of CloudEvents, in order, each event at least once; then go on with new events until interrupted',
    )
    .requiredOption('--to <url>', 'where to POST the batches', parseUrl)
    .option('--account <id>', 'the account; may be left out when there is only one')
    .option('--after <position>', 'begin after this position, if there is no cursor yet (default: 0)', parsePosition)
    .option('--cursor <file>', 'keeps the position that the collector has', DEFAULT_CURSOR)
    .option('--secret-file <file>', 'signs each batch by the secrets of this file, whsec_... on each line')
    .option('--batch <count>', `maximum number of events in a batch, 1 to ${MAX_BATCH}`, parseBatch, DEFAULT_BATCH)
    .option('--once', 'end at the end of the log')
    .action(runPush);
  withExamples(
    command,
    'audit push --to https://siem.example.com/events --secret-file secret --cursor siem.cursor',
    'audit push --to https://siem.example.com/events --after 1000 --once',
  );
}

async function runPush(options: PushOptions): Promise<void> {
  // Before the database is opened: the operator hears of a bad file at once.
  const secrets = options.secretFile === undefined ? [] : await readSecrets(options.secretFile);
  const collector = new Collector(options.to, secrets, tell);
  const cursor = await readCursor(options.cursor);
  await requireWritable(options.cursor);
  if (cursor !== undefined) refuseOtherCollector(cursor, collector, options.cursor);
  if (!isPrivate(options.to)) tell(`warning: ${collector.name} gets the log without encryption; use https`);
  await onDatabase(READS, (database) => push(database, options, collector, cursor));
}

async function push(
  { pool, interrupt }: CommandDatabase,
  { account: wanted, after: first = 0, cursor: file, batch: maxEvents, once = false }: PushOptions,
  collector: Collector,
  cursor: Cursor | undefined,
): Promise<void> {
  const { account } = await chosenAccount(pool, wanted ?? cursor?.account);
  if (cursor !== undefined && cursor.account !== account) {
    throw new UsageError(`${file} is the cursor of account ${cursor.account}: name another file with --cursor`);
  }
  const after = cursor?.position ?? first;
  tell(`pushing the log of ${account} after position ${after} to ${collector.name}`);
  const work = new LogPush(pool, new CloudEvents(READ_MODELS), collector);
  const save = (at: Cursor) => writeCursor(file, at);
  const last = await work.run({ account, after, eventId: cursor?.eventId, maxEvents, once }, save, interrupt);
  if (once) interrupt.throwIfAborted();
  tell(`${collector.name} has the log of ${account} up to position ${last}`);
}

/** Two collectors with one cursor would each miss what the other one got. */
function refuseOtherCollector({ collector, position }: Cursor, { name }: Collector, file: string): void {
  if (collector === name) return;
  const advice = `name another file with --cursor; to go on from there, add --after ${position}`;
  throw new UsageError(`${file} is the cursor of ${collector}: ${advice}`);
}
