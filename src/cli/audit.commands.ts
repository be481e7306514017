import { type Command, InvalidArgumentError } from 'commander';
import type { Pool } from 'pg';
import type { Database } from '../database/database.js';
import type { MaintenanceDatabase } from '../database/dedicated-connections.js';
import { changesBetween } from '../log/read/field-changes.js';
import { LogPositions } from '../log/read/log-positions.js';
import { LogReader } from '../log/read/log-reader.js';
import type { AnyReadModel, Entity } from '../log/read-model.js';
import { Problem } from '../problem.js';
import { readModelOf } from '../read-models.js';
import { UsageError } from './exit-codes.js';
import { changeLine, eventLine, lifeOf, newLine } from './format.js';
import { followLogs, newestEvents } from './log-tail.js';

type Place = Pick<Database, 'pool'> & Required<Pick<MaintenanceDatabase, 'interrupt'>>;
type OnDatabase = (work: (place: Place) => Promise<void>) => Promise<void>;

const print = (line: string): void => console.log(line);

/** `audit show`, `audit diff` and `audit tail`: the log for people. */
export function addAuditCommands(audit: Command, onDatabase: OnDatabase): void {
  audit
    .command('show')
    .description('Tell the life of a thing: each change, by whom, with which key and from where')
    .argument('<id>', 'of a credential, edge, user, bot, API key or account')
    .action((id: string) =>
      onDatabase(async ({ pool }) => {
        const { accountId, model } = await findThing(pool, id);
        print(`${id} of account ${accountId}`);
        const events = new LogReader(pool).ofStreams(accountId, [id], Number.MAX_SAFE_INTEGER);
        for await (const line of lifeOf(model, events)) print(line);
      }),
    );
  audit
    .command('diff')
    .description('Tell what is different about a thing between two moments')
    .argument('<id>', 'of a credential, edge, user, bot, API key or account')
    .requiredOption('--from <moment>', 'a log position, or an RFC 3339 time')
    .option('--to <moment>', 'a log position, or an RFC 3339 time; without it, now')
    .action((id: string, { from, to }: { from: string; to?: string }) =>
      onDatabase(({ pool }) => diff(pool, id, from, to)),
    );
  audit
    .command('tail')
    .description('Print the newest events, a line each')
    .option('-f, --follow', 'go on with what happens from now on, until interrupted')
    .option('-n, --lines <count>', 'how many', countOf, 10)
    .option('--account <id>', 'only of this account')
    .action((options: { follow?: true; lines: number; account?: string }) =>
      onDatabase((place) => tail(place, options)),
    );
}

interface Thing {
  readonly accountId: string;
  readonly model: AnyReadModel;
}

/** Ids are unique over all accounts; each log is asked by its index. */
async function findThing(pool: Pool, id: string): Promise<Thing> {
  const { rows } = await pool.query<{ account_id: string }>(
    `select h.account_id from log_heads h
     where exists (select from events e where e.account_id = h.account_id and e.stream_id = $1) limit 1`,
    [id],
  );
  const [found] = rows;
  if (found === undefined) throw new Problem('not_found', `nothing in any log has the id '${id}'`);
  return { accountId: found.account_id, model: readModelOf(id) };
}

async function diff(pool: Pool, id: string, from: string, to: string | undefined): Promise<void> {
  const { accountId, model } = await findThing(pool, id);
  const [reader, moments] = [new LogReader(pool), new LogPositions(pool)];
  const positionOf = (name: string, moment: string | undefined): Promise<number> =>
    moment === undefined ? moments.head(accountId) : moments.positionOf(accountId, name, moment);
  const at = (position: number): Promise<Entity<unknown> | undefined> =>
    reader.entityAt(model, { accountId, id }, position);
  const [first, last] = [await positionOf('--from', from), await positionOf('--to', to)];
  if (first > last) throw new UsageError(`--from (position ${first}) is later than --to (position ${last})`);
  const [before, after] = [await at(first), await at(last)];
  if (before !== undefined && after === undefined) return print(`${id} was deleted`);
  if (before === undefined && after !== undefined) print(`${id} was created`);
  for (const change of changesBetween(model, before, after))
    print((before === undefined ? newLine : changeLine)(change));
}

async function tail(
  { pool, interrupt }: Place,
  { follow = false, lines, account }: { follow?: boolean; lines: number; account?: string },
): Promise<void> {
  const { events, heads } = await newestEvents(pool, lines, account);
  if (account !== undefined && !heads.has(account)) throw new UsageError(`there is no log of '${account}'`);
  for (const event of events) print(eventLine(event));
  if (!follow) return;
  const readerLeft = new AbortController();
  process.stdout.once('error', () => readerLeft.abort());
  const end = AbortSignal.any([interrupt, readerLeft.signal]);
  for await (const event of followLogs(pool, heads, account, end)) print(eventLine(event));
}

function countOf(text: string): number {
  if (!/^\d{1,6}$/.test(text)) throw new InvalidArgumentError('It must be a whole number.');
  return Number(text);
}
