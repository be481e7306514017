import { type Command, InvalidArgumentError, Option } from 'commander';
import { Interrupted, UsageError } from '../../../kernel/operator-error.js';
import { withOfflineExamples } from '../../help.js';
import { isConfidential, parseUrl } from '../../http/http-url.js';
import { ServiceApi } from '../../http/service-api.js';
import { tell } from '../../print.js';
import { untilStopped } from '../../until-stopped.js';
import { parsePosition, wholeNumber } from '../number-argument.js';
import { Collector } from './collector.js';
import { EventFeed } from './event-feed.js';
import { LogPush } from './log-push.js';
import { type Cursor, readCursor, requireWritable, writeCursor } from './push-cursor.js';
import { readSecrets } from './signature.js';

const DEFAULT_CURSOR = 'audit-push.cursor';
const [DEFAULT_BATCH, MAX_BATCH] = [500, 1_000];
const parseBatch = wholeNumber(1, MAX_BATCH, `It must be 1 to ${MAX_BATCH}.`);

interface PushOptions {
  readonly apiKeyFile: string;
  readonly to: URL;
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
      'Send the log of an account to an HTTP collector as batches of CloudEvents, in order, each event at least once; then go on with new events until interrupted. The command reads the log from GET /events of the service',
    )
    .argument('<url>', 'the URL of the service', parseUrl)
    .requiredOption('--api-key-file <file>', 'file with the API key of an auditor or admin of the account')
    .requiredOption('--to <url>', 'where to POST the batches', parseUrl)
    .option('--after <position>', 'begin after this position, if there is no cursor yet (default: 0)', parsePosition)
    .option('--cursor <file>', 'file that keeps the last position that the collector has', DEFAULT_CURSOR)
    .option('--secret-file <file>', 'file with the secrets that sign each batch, one whsec_... on each line')
    .option('--batch <count>', `maximum number of events in a batch, 1 to ${MAX_BATCH}`, parseBatch, DEFAULT_BATCH)
    .option('--once', 'end at the end of the log')
    .addOption(new Option('--account <id>').argParser(refuseAccount).hideHelp())
    .action(runPush);
  withOfflineExamples(
    command,
    'audit push https://tunnels.example.com --api-key-file auditor.key --to https://siem.example.com/events --secret-file secret',
    'audit push https://tunnels.example.com --api-key-file auditor.key --to https://siem.example.com/events --after 1000 --once',
  );
}

function refuseAccount(): never {
  throw new InvalidArgumentError('The API key determines the account: give a key of this account with --api-key-file.');
}

async function runPush(url: URL, options: PushOptions): Promise<void> {
  const { to, cursor: file, secretFile, after = 0, batch: maxEvents, once = false } = options;
  const collector = new Collector(to, secretFile === undefined ? [] : await readSecrets(secretFile), tell);
  const sent = await readCursor(file);
  await requireWritable(file);
  if (sent !== undefined) refuseOtherCollector(sent, collector, file);
  const log = new EventFeed(await ServiceApi.withKeyIn(options.apiKeyFile, url));
  if (!isConfidential(to)) tell(`warning: ${collector.name} gets the log without encryption; use https`);
  const stopped = untilStopped();
  const push = new LogPush(log, collector, { sent, after, maxEvents, once }, stopped, tell);
  const reached = await push.run((last) => writeCursor(file, { ...last, collector: collector.name }));
  if (once && stopped.aborted)
    throw new Interrupted('interrupted; the next run begins after the last batch that was accepted');
  if (reached !== undefined) {
    tell(`${collector.name} has the log of ${reached.account} up to position ${reached.position}`);
  }
}

/** Refuses the cursor of another collector: two collectors with one cursor would each miss what the other one got. */
function refuseOtherCollector({ collector, position }: Cursor, { name }: Collector, file: string): void {
  if (collector === name) return;
  const advice = `name another file with --cursor; to go on from there, add --after ${position}`;
  throw new UsageError(`${file} is the cursor of ${collector}: ${advice}`);
}
