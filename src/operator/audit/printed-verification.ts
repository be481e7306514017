import { READ_MODELS } from '../../api/read-models.js';
import type { MaintenanceDatabase } from '../../database/index.js';
import { type Fault, type KeptCheckpoint, type StreamedEvent, verify, verifyFile } from '../../event-log/index.js';
import type { CheckpointKeys } from '../checkpoint-keys.js';
import { print, tell } from '../print.js';
import { faultLine } from '../printed-proof.js';
import { progressOn } from '../progress.js';
import { Stopwatch } from '../stopwatch.js';
import type { Printing } from '../table.js';

/** Checks the logs. Prints each fault on stdout and the result on stderr. Resolves with the number of faults. */
export async function printVerification(
  database: MaintenanceDatabase,
  { json, ...scope }: Printing & { readonly account: string | undefined; readonly hasRecords: boolean },
  keys: CheckpointKeys,
  kept: readonly KeptCheckpoint[],
): Promise<number> {
  const output = new Verification({ json });
  const { progress } = output;
  const { accounts, events } = await verify(database, READ_MODELS, {
    ...scope,
    keysOf: keys.of,
    unchecked: keys.unchecked,
    kept,
    begin: (one, size) => progress.begin(`verify ${one}`, 'events', size),
    events: (count) => progress.add(count),
    fault: (one) => output.fault(one),
    warn: tell,
  });
  return output.end(keys, `${events} events of ${accounts} accounts`);
}

/** Where exported lines come from. */
interface Source extends Printing {
  readonly name: string;
  /** The number of events, if it is known. */
  readonly size?: number | undefined;
  /** What the feed tells of hidden events. Absent: nothing tells of them. */
  readonly hiddenAt?: (position: number) => Promise<StreamedEvent | undefined>;
}

/** Checks exported logs in the same way, and says what cannot be checked of them. */
export async function printFileVerification(
  lists: AsyncIterable<readonly string[]>,
  keys: CheckpointKeys,
  kept: readonly KeptCheckpoint[],
  { name, size, hiddenAt, json }: Source,
): Promise<{ readonly faults: number; readonly events: number }> {
  const output = new Verification({ json });
  output.progress.begin('verify', 'events', size, 'estimate');
  const { events, isHeld, hidden } = await verifyFile(lists, READ_MODELS, {
    kept,
    keysOf: keys.of,
    unchecked: keys.unchecked,
    events: (count) => output.progress.add(count),
    fault: (one) => output.fault(one),
    ...(hiddenAt !== undefined && { hiddenAt }),
  });
  tell(`${name} has no schema, rights, tiles and records: audit verify checks them in the database`);
  if (!isHeld) console.error(NOT_HELD);
  if (hidden.length > 0) console.error(`hidden, with their hashes alone: ${hidden.join(', ')}`);
  if (hidden.length > 0 && hiddenAt === undefined) console.error(NOT_TOLD);
  return { faults: output.end(keys, `${events} events of ${name}`), events };
}

const NOT_TOLD = 'a file does not say which events may be hidden: audit verify --url asks the feed';
const NOT_HELD =
  'the log was held to no checkpoint: this check does not notice events that were edited and hashed again, or cut off at the end. Give a checkpoint with --checkpoint';

class Verification {
  readonly progress = progressOn(process.stderr);
  private readonly took = new Stopwatch();
  private faults = 0;

  constructor(private readonly printing: Printing) {}

  fault(one: Fault): void {
    this.faults += 1;
    print(this.printing.json === true ? JSON.stringify(one) : faultLine(one));
  }

  end(keys: CheckpointKeys, checked: string): number {
    this.progress.done();
    keys.tellUnchecked();
    const result = this.faults === 0 ? 'all in order' : `${this.faults} faults`;
    console.error(`${checked} in ${this.took.total} s: ${result}`);
    return this.faults;
  }
}
