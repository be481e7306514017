import type { Command } from 'commander';
import type { MaintenanceDatabase } from '../database/dedicated-connections.js';
import { type Proof, type ProofWatcher, prove } from '../log/prove/proof.js';
import type { Difference } from '../log/prove/table-diff.js';
import type { AnyReadModel } from '../log/read-model.js';
import { rebuild } from '../log/rebuild/rebuild.js';
import { refuseUnknownAccount } from './chosen-account.js';
import { chosenModels } from './chosen-models.js';
import { CheckFailed } from './exit-codes.js';
import { lowerPriority } from './lower-priority.js';
import { progressOn } from './progress.js';
import { Stopwatch } from './stopwatch.js';

type OnDatabase = (work: (place: MaintenanceDatabase) => Promise<void>) => Promise<void>;

export function addProjectionCommands(program: Command, onDatabase: OnDatabase, models: readonly AnyReadModel[]): void {
  const projections = program
    .command('projections')
    .description('The tables that GET and LIST answer from: made anew from the log, or held against it');
  projections
    .command('rebuild')
    .description(
      'Make the tables anew from the log, of all accounts, while the service runs. Interrupt and repeat it at will',
    )
    .option('--name <table>', 'only the read model that this table belongs to')
    .action(({ name }: { name?: string }) => {
      const chosen = chosenModels(models, name);
      return onDatabase((place) => runRebuild(place, { all: models, rebuilt: chosen }));
    });
  projections
    .command('prove')
    .description(
      'Compare the tables with what the log says, at one moment. Each difference is a line on stdout: table, account, key, field, value in the table, value by the log; divided by tabs',
    )
    .option('--account <id>', 'only this account')
    .option('--name <table>', 'only the read model that this table belongs to')
    .action(({ account, name }: { account?: string; name?: string }) => {
      const chosen = chosenModels(models, name);
      return onDatabase((place) => runProof(place, { all: models, proven: chosen }, account));
    });
}

async function runRebuild(place: MaintenanceDatabase, models: Parameters<typeof rebuild>[1]): Promise<void> {
  lowerPriority();
  const progress = progressOn(process.stderr);
  const took = new Stopwatch();
  let [events, longestPauseMs] = [0, 0];
  await rebuild(place, models, {
    step: (tables, what, about) => {
      took.begin(what);
      progress.begin(`${tables}: ${what}`, 'events', about);
    },
    events: (count) => {
      events += count;
      progress.add(count);
    },
    swapped: (_, pauseMs) => {
      longestPauseMs = Math.max(longestPauseMs, pauseMs);
    },
    waiting: (tables, attempt) =>
      progress.begin(`${tables}: others use it for longer than they may wait, trying again (${attempt})`, 'events'),
  });
  progress.done();
  const tables = models.rebuilt.flatMap((model) => model.tables.map((table) => table.name)).join(', ');
  console.error(
    `rebuilt ${tables} from ${events} events in ${took.total} s, ${took.of('fill')} s of it reading and folding them; nobody waited for a table for longer than ${Math.ceil(longestPauseMs)} ms`,
  );
}

async function runProof(
  place: MaintenanceDatabase,
  models: Parameters<typeof prove>[1],
  account: string | undefined,
): Promise<void> {
  await refuseUnknownAccount(place, models.all, account);
  lowerPriority();
  const took = new Stopwatch();
  const progress = progressOn(process.stderr);
  const watcher: ProofWatcher = {
    account,
    begin: (tables, events) => progress.begin(`prove ${tables}`, 'events', events),
    events: (count) => progress.add(count),
    difference: (difference) => console.log(lineOf(difference)),
  };
  const proof = await prove(place, models, watcher);
  progress.done();
  console.error(summaryOf(proof, took.total));
  if (proof.differences > 0) throw new CheckFailed();
}

export const lineOf = ({ table, account, key, field, live, log }: Difference): string =>
  [table, account, key, field, live, log].join('\t');

const summaryOf = ({ rows, events, differences }: Proof, took: string): string => {
  const compared = `${rows} rows compared with ${events} events in ${took} s`;
  return differences === 0 ? `${compared}: they agree` : `${compared}: ${differences} differences`;
};
