import { open } from 'node:fs/promises';
import { addAbortSignal, type Readable } from 'node:stream';
import { pipeline } from 'node:stream/promises';
import { type Command, InvalidArgumentError } from 'commander';
import { to } from 'pg-copy-streams';
import { DedicatedConnections, type MaintenanceDatabase } from '../database/dedicated-connections.js';
import { prove } from '../log/prove/proof.js';
import { verify } from '../log/prove/verify.js';
import type { AnyReadModel } from '../log/read-model.js';
import { IN_INDEX_ORDER } from '../log/replay/replay.js';
import { exportQuery } from '../log/transfer/log-file.js';
import { importLog } from '../log/transfer/log-import.js';
import { chosenAccount, refuseUnknownAccount } from './chosen-account.js';
import { CheckFailed, UsageError } from './exit-codes.js';
import { warnOfImported } from './import-warnings.js';
import { lowerPriority } from './lower-priority.js';
import { linesOf } from './ndjson.js';
import { progressOn } from './progress.js';
import { lineOf } from './projections.commands.js';
import { Stopwatch } from './stopwatch.js';

type OnDatabase = (work: (place: MaintenanceDatabase) => Promise<void>) => Promise<void>;

/** Adds to the command `audit`. */
export function addLogFileCommands(
  audit: Command,
  { onDatabase, onAnyDatabase }: { readonly onDatabase: OnDatabase; readonly onAnyDatabase: OnDatabase },
  models: readonly AnyReadModel[],
): void {
  audit
    .command('export')
    .description('Write an account’s log to stdout, one event a line as JSON, with the exact bytes of its hashes')
    .option('--account <id>', 'the account; may be left out when there is only one')
    .option('--after <position>', 'only the events after this position', positionOf, 0)
    .action(({ account, after }: { account?: string; after: number }) =>
      onDatabase((place) => exportLog(place, account, after)),
    );
  audit
    .command('import')
    .description('Write an exported log into this database, where its account must have none, with all that it makes')
    .argument('<file>', 'what export wrote; - for stdin')
    .action(async (file: string) => {
      const input = file === '-' ? process.stdin : await opened(file);
      await onAnyDatabase((place) => runImport(place, models, input));
    });
  audit
    .command('verify')
    .description(
      'Check the logs: positions without gaps up to the head, versions without gaps, every hash right. Each fault is a line on stdout: account, what is wrong; divided by a tab',
    )
    .option('--account <id>', 'only this account')
    .action(({ account }: { account?: string }) => onDatabase((place) => runVerify(place, models, account)));
}

function positionOf(text: string): number {
  if (!/^\d{1,15}$/.test(text)) throw new InvalidArgumentError('a position is a whole number, 0 or more');
  return Number(text);
}

async function exportLog(place: MaintenanceDatabase, wanted: string | undefined, after: number): Promise<void> {
  await DedicatedConnections.use(place, async (connections) => {
    const client = await connections.openTransaction();
    const { account, size } = await chosenAccount(client, wanted);
    const progress = progressOn(process.stderr);
    progress.begin(`export ${account}`, 'events', Math.max(0, size - after));
    // A sorted export would begin only once all of it has been read.
    await client.query(IN_INDEX_ORDER);
    const lines = client.query(to(exportQuery(account, { after, upTo: size })));
    await pipeline(lines, counted(progress.add.bind(progress)), process.stdout, { end: false }).catch(unlessReaderLeft);
    progress.done();
  });
}

const LINE_END = 0x0a;

const counted = (onLines: (count: number) => void) =>
  async function* (chunks: AsyncIterable<Buffer>): AsyncGenerator<Buffer> {
    for await (const chunk of chunks) {
      let lines = 0;
      for (let at = chunk.indexOf(LINE_END); at !== -1; at = chunk.indexOf(LINE_END, at + 1)) lines += 1;
      onLines(lines);
      yield chunk;
    }
  };

/** Whoever reads only the beginning (`| head`) has what it wanted. */
function unlessReaderLeft(error: unknown): void {
  if (!(error instanceof Error && 'code' in error && error.code === 'EPIPE')) throw error;
}

/** Before anything else is done: a name that was typed wrongly is said at once. */
async function opened(file: string): Promise<Readable> {
  try {
    const handle = await open(file);
    if (!(await handle.stat()).isDirectory()) return handle.createReadStream();
    await handle.close();
  } catch (error) {
    throw new UsageError(`the file cannot be read: ${error instanceof Error ? error.message : String(error)}`);
  }
  throw new UsageError(`${file} is a directory, not a file that export wrote`);
}

async function runImport(place: MaintenanceDatabase, models: readonly AnyReadModel[], input: Readable): Promise<void> {
  const progress = progressOn(process.stderr);
  progress.begin('import', 'events');
  // What waits for its next line would not hear that its connection was ended.
  if (place.interrupt !== undefined) addAbortSignal(place.interrupt, input);
  // Whoever reads the lines gets the error; it may come before they are read.
  input.on('error', () => undefined);
  const { account, events } = await importLog(place, models, linesOf(input), (count) => progress.add(count));
  progress.done();
  console.error(`imported ${events} events of account ${account}`);
  await warnOfImported(place, account);
  const { rows, differences } = await prove(
    place,
    { all: models, proven: models },
    {
      account,
      begin: (table, about) => progress.begin(`prove ${table}`, 'events', about),
      events: (count) => progress.add(count),
      difference: (difference) => console.log(lineOf(difference)),
    },
  );
  progress.done();
  if (differences > 0) throw new CheckFailed();
  console.error(`${rows} rows made of them, and proven`);
}

async function runVerify(
  place: MaintenanceDatabase,
  models: readonly AnyReadModel[],
  account: string | undefined,
): Promise<void> {
  await refuseUnknownAccount(place, models, account);
  lowerPriority();
  const took = new Stopwatch();
  const progress = progressOn(process.stderr);
  let faults = 0;
  const { accounts, events } = await verify(place, {
    account,
    begin: (one, size) => progress.begin(`verify ${one}`, 'events', size),
    events: (count) => progress.add(count),
    fault: ({ account: one, what }) => {
      faults += 1;
      console.log(`${one}\t${what}`);
    },
  });
  progress.done();
  const outcome = faults === 0 ? 'all in order' : `${faults} faults`;
  console.error(`${events} events of ${accounts} accounts in ${took.total} s: ${outcome}`);
  if (faults > 0) throw new CheckFailed();
}
