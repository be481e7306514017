import { READ_MODELS } from '../api/read-models.js';
import type { MaintenanceDatabase } from '../database/index.js';
import {
  type AnyReadModel,
  type Difference,
  type Digests,
  type Fault,
  type Proof,
  prove,
  type VerifyWatcher,
} from '../event-log/index.js';
import { print } from './print.js';
import type { Progress } from './progress.js';

export interface ProofOptions extends Pick<VerifyWatcher, 'keysOf'> {
  /** Undefined: all accounts. */
  readonly account?: string | undefined;
  /** Compares the rows of this stream only. Undefined: of all. */
  readonly id?: string | undefined;
  /** Prints the digests of the tables too. */
  readonly digest?: boolean;
}

/** Each fault of the logs is a line on stdout, each difference of the tables of read models, and each digest. */
export async function printProof(
  database: MaintenanceDatabase,
  proven: readonly AnyReadModel[],
  { account, id, keysOf, digest = false }: ProofOptions,
  progress: Progress,
): Promise<Proof> {
  const models = { all: READ_MODELS, proven, id };
  const lines: string[] = [];
  const proof = await prove(database, models, {
    account,
    keysOf,
    begin: (what, events) => progress.begin(`prove ${what}`, 'events', events, 'estimate'),
    events: (count) => progress.add(count),
    fault: (one) => print(faultLine(one)),
    difference: (difference) => print(differenceLine(difference)),
    ...(digest && { digests: (digests) => lines.push(...digestLines(digests, account)) }),
  });
  progress.done();
  for (const line of lines) print(line);
  return proof;
}

/** The line of a fault, which `audit verify` prints too. */
export const faultLine = ({ account = 'all accounts', what }: Fault): string => `${account}\t${what}`;

const digestLines = ({ position, tables }: Digests, account = 'all accounts'): string[] =>
  tables.map(({ table, digest }) => [table, account, position, digest].join('\t'));

/** The line of a difference, which a repair prints too. */
export const differenceLine = ({ table, account, key, field, live, log }: Difference): string =>
  [table, account, key, field, live, log].join('\t');
