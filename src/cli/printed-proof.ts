import type { MaintenanceDatabase } from '../database/dedicated-connections.js';
import { type Proof, prove } from '../log/prove/proof.js';
import type { Difference } from '../log/prove/table-diff.js';
import type { AnyReadModel } from '../log/read-model.js';
import { READ_MODELS } from '../read-models.js';
import { print } from './print.js';
import type { Progress } from './progress.js';

/** Compares the tables of read models with the log. Each difference is a line on stdout. */
export async function printProof(
  database: MaintenanceDatabase,
  proven: readonly AnyReadModel[],
  account: string | undefined,
  progress: Progress,
): Promise<Proof> {
  const models = { all: READ_MODELS, proven };
  const proof = await prove(database, models, {
    account,
    begin: (tables, events) => progress.begin(`prove ${tables}`, 'events', events, 'estimate'),
    events: (count) => progress.add(count),
    difference: (difference) => print(lineOf(difference)),
  });
  progress.done();
  return proof;
}

const lineOf = ({ table, account, key, field, live, log }: Difference): string =>
  [table, account, key, field, live, log].join('\t');
