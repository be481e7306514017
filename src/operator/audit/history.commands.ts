import type { Command } from 'commander';
import type { Pool } from 'pg';
import { readModelOf } from '../../api/read-models.js';
import {
  type AnyReadModel,
  AS_COMMITTED,
  changesBetween,
  type Entity,
  LogPositions,
  LogReader,
} from '../../event-log/index.js';
import { UsageError } from '../../kernel/operator-error.js';
import { withExamples } from '../help.js';
import { print } from '../print.js';
import { onDatabase, READS } from '../run-on-database.js';
import { JSON_OPTION, type Printing } from '../table.js';
import { changedValue, historyLines, initialValue } from './format.js';

const SAMPLE_ID = 'sshcr_2Sd3gVzXW1vzFJpCFLqzmEJ9SgA';
const ID = 'id of a credential, edge, user, bot, API key or account';

export function addShowCommand(audit: Command): void {
  const show = audit
    .command('show')
    .description(
      'Print the history of a resource: each change, who made it, with which key and from where. Over HTTP: log',
    )
    .argument('<id>', ID)
    .option(...JSON_OPTION)
    .action((id: string, options: Printing) => onDatabase(READS, ({ pool }) => printHistory(pool, id, options)));
  withExamples(show, `audit show ${SAMPLE_ID}`);
}

export function addDiffCommand(audit: Command): void {
  const diff = audit
    .command('diff')
    .description('Print how a resource differs between two moments')
    .argument('<id>', ID)
    .requiredOption('--from <moment>', 'a log position, or an RFC 3339 time')
    .option('--to <moment>', 'a log position, or an RFC 3339 time (default: now)')
    .option(...JSON_OPTION)
    .action((id: string, options: DiffOptions) => onDatabase(READS, ({ pool }) => printDiff(pool, id, options)));
  withExamples(
    diff,
    `audit diff ${SAMPLE_ID} --from 17 --to 18`,
    `audit diff ${SAMPLE_ID} --from 2026-11-21T11:45:07Z`,
  );
}

async function printHistory(pool: Pool, id: string, { json }: Printing): Promise<void> {
  const { accountId, model } = await findResource(pool, id);
  if (json !== true) print(`${id} of account ${accountId}`);
  const events = new LogReader(pool).ofStreams(accountId, [id], Number.MAX_SAFE_INTEGER);
  for await (const line of historyLines(model, events, json)) print(line);
}

interface FoundResource {
  readonly accountId: string;
  readonly model: AnyReadModel;
}

/** Searches the log of every account. Ids are unique over all accounts. */
async function findResource(pool: Pool, id: string): Promise<FoundResource> {
  const { rows } = await pool.query<{ account_id: string }>(
    `select h.account_id from log_heads h
     where exists (select from events e where e.account_id = h.account_id and e.stream_id = $1) limit 1`,
    [id],
  );
  const [found] = rows;
  if (found === undefined) throw new UsageError(`there is no resource '${id}' in the log of any account`);
  return { accountId: found.account_id, model: readModelOf(id) };
}

interface DiffOptions extends Printing {
  readonly from: string;
  readonly to?: string;
}

async function printDiff(pool: Pool, id: string, { from, to, json }: DiffOptions): Promise<void> {
  const { accountId, model } = await findResource(pool, id);
  const [reader, positions] = [new LogReader(pool), new LogPositions(pool, AS_COMMITTED)];
  const positionOf = (name: string, moment: string | undefined): Promise<number> =>
    moment === undefined ? positions.head(accountId) : positions.positionOf(accountId, name, moment);
  const at = (position: number): Promise<Entity<unknown> | undefined> =>
    reader.entityAt(model, { accountId, id }, position);
  const [first, last] = [await positionOf('--from', from), await positionOf('--to', to)];
  if (first > last) throw new UsageError(`--from (position ${first}) is later than --to (position ${last})`);
  const [before, after] = [await at(first), await at(last)];
  const lines =
    json === true
      ? changesBetween(model, before, after).map((change) => JSON.stringify(change))
      : diffLines(id, model, before, after);
  for (const line of lines) print(line);
}

function diffLines(
  id: string,
  model: AnyReadModel,
  before: Entity<unknown> | undefined,
  after: Entity<unknown> | undefined,
): string[] {
  if (before !== undefined && after === undefined) return [`${id} was deleted`];
  const changes = changesBetween(model, before, after);
  if (before !== undefined) return changes.map(changedValue);
  return after === undefined ? [] : [`${id} was created`, ...changes.map(initialValue)];
}
