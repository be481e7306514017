import type { MaintenanceDatabase } from '../database/dedicated-connections.js';
import type { Digests } from '../log/prove/digests.js';
import { type Proof, prove } from '../log/prove/proof.js';
import type { Difference } from '../log/prove/table-diff.js';
import type { AnyReadModel } from '../log/read-model.js';
import { READ_MODELS } from '../read-models.js';
import { print } from './print.js';
import type { Progress } from './progress.js';

export interface ProofOptions {
  /** Undefined: all accounts. */
  readonly account?: string | undefined;
  /** Prints the digests of the tables too. */
  readonly digest?: boolean;
}

/** Compares the tables of read models with the log. Each difference is a line on stdout, and each digest. */
export async function printProof(
  database: MaintenanceDatabase,
  proven: readonly AnyReadModel[],
  { account, digest = false }: ProofOptions,
  progress: Progress,
): Promise<Proof> {
  const models = { all: READ_MODELS, proven };
  const lines: string[] = [];
  const proof = await prove(database, models, {
    account,
    begin: (tables, events) => progress.begin(`prove ${tables}`, 'events', events, 'estimate'),
    events: (count) => progress.add(count),
    difference: (difference) => print(lineOf(difference)),
    ...(digest && { digests: (digests) => lines.push(...digestLines(digests, account)) }),
  });
  progress.done();
  for (const line of lines) print(line);
  return proof;
}

const digestLines = ({ position, tables }: Digests, account = 'all accounts'): string[] =>
  tables.map(({ table, digest }) => [table, account, position, digest].join('\t'));

const lineOf = ({ table, account, key, field, live, log }: Difference): string =>
  [table, account, key, field, live, log].join('\t');
