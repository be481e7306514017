import type { Command } from 'commander';
import { UsageError } from '../../kernel/operator-error.js';
import { withExamples } from '../help.js';
import { print, tell } from '../print.js';
import { type CommandDatabase, onDatabase, READS } from '../run-on-database.js';
import { JSON_OPTION, type Printing } from '../table.js';
import { eventJson, eventLine } from './format.js';
import { followLogs, newestEvents } from './log-tail.js';
import { wholeNumber } from './number-argument.js';

const parseCount = wholeNumber(0, 999_999, 'It must be a whole number.');

export function addTailCommand(audit: Command): void {
  const command = audit
    .command('tail')
    .description('Print the newest events, one on a line')
    .option('-f, --follow', 'go on with new events until interrupted; the exit code is then 0')
    .option('-n, --lines <count>', 'number of events', parseCount, 10)
    .option('--account <id>', 'only this account (default: all)')
    .option(...JSON_OPTION)
    .action((options: TailOptions) => onDatabase(READS, (database) => tail(database, options)));
  withExamples(command, 'audit tail -n 20', 'audit tail -f --account ac_2Sd3gVzXW1vzFJpCFLqzmEJ9SgA');
}

interface TailOptions extends Printing {
  readonly follow?: true;
  readonly lines: number;
  readonly account?: string;
}

async function tail(
  { pool, interrupt }: CommandDatabase,
  { follow, lines, account, json }: TailOptions,
): Promise<void> {
  const lineOf = json === true ? eventJson : eventLine;
  const { events, heads } = await newestEvents(pool, lines, account);
  if (account !== undefined && !heads.has(account)) throw new UsageError(`there is no account ${account}`);
  for (const event of events) print(lineOf(event));
  if (follow === undefined) return;
  const readerLeft = new AbortController();
  process.stdout.once('error', () => readerLeft.abort());
  const end = AbortSignal.any([interrupt, readerLeft.signal]);
  for await (const event of followLogs(pool, heads, account, end, tell)) print(lineOf(event));
}
