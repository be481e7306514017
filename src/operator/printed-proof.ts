import { READ_MODELS } from '../api/read-models.js';
import type { MaintenanceDatabase } from '../database/index.js';
import { type AnyReadModel, type Difference, type Fault, type Proof, prove } from '../event-log/index.js';
import type { CheckpointKeys } from './checkpoint-keys.js';
import { print, tell } from './print.js';
import type { Progress } from './progress.js';

export interface ProofOptions {
  readonly keys: CheckpointKeys;
  /** Undefined: all accounts. */
  readonly account?: string | undefined;
  /** Compares only the rows of this stream. Undefined: of all streams. */
  readonly id?: string | undefined;
  /** Prints the digests of the tables too. */
  readonly digest?: boolean;
}

/** Compares the tables with the logs. Prints each fault of a log, each difference and each digest on stdout. */
export async function printProof(
  database: MaintenanceDatabase,
  proven: readonly AnyReadModel[],
  { account, id, keys, digest = false }: ProofOptions,
  progress: Progress,
): Promise<Proof> {
  const models = { all: READ_MODELS, proven, id };
  const lines: string[] = [];
  const proof = await prove(database, models, {
    account,
    keysOf: keys.of,
    unchecked: keys.unchecked,
    begin: (what, events) => progress.begin(`prove ${what}`, 'events', events, 'estimate'),
    events: (count) => progress.add(count),
    fault: (one) => print(faultLine(one)),
    warn: tell,
    difference: (difference) => print(differenceLine(difference)),
    ...(digest && {
      digests: ({ position, tables }) =>
        lines.push(...tables.map(({ table, digest: hash }) => [table, account ?? ALL, position, hash].join('\t'))),
    }),
  });
  progress.done();
  keys.tellUnchecked();
  for (const line of lines) print(line);
  return proof;
}

const ALL = 'all accounts';

/** The line of a fault, as `audit verify` prints it too. */
export const faultLine = ({ account = ALL, what }: Fault): string => `${account}\t${what}`;

/** The line of a difference, as a repair prints it too. */
export const differenceLine = ({ table, account, key, field, live, log }: Difference): string =>
  [table, account, key, field, live, log].join('\t');
