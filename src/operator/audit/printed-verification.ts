import type { Readable } from 'node:stream';
import { READ_MODELS } from '../../api/read-models.js';
import type { MaintenanceDatabase } from '../../database/index.js';
import { type Fault, type KeptCheckpoint, verify, verifyFile } from '../../event-log/index.js';
import type { CheckpointKeys } from '../checkpoint-keys.js';
import { print, tell } from '../print.js';
import { faultLine } from '../printed-proof.js';
import { progressOn } from '../progress.js';
import { Stopwatch } from '../stopwatch.js';
import { linesOf } from './ndjson.js';

/** Checks the logs. Prints each fault on stdout and the result on stderr. Resolves with the number of faults. */
export async function printVerification(
  database: MaintenanceDatabase,
  scope: { readonly account: string | undefined; readonly hasRecords: boolean },
  keys: CheckpointKeys,
  kept: readonly KeptCheckpoint[],
): Promise<number> {
  const output = new Verification();
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

/** Checks the logs in a file in the same way, and says what cannot be checked in a file. */
export async function printFileVerification(
  input: Readable,
  keys: CheckpointKeys,
  kept: readonly KeptCheckpoint[],
): Promise<number> {
  const output = new Verification();
  output.progress.begin('verify', 'events');
  const { events, isHeld } = await verifyFile(linesOf(input), READ_MODELS, {
    kept,
    keysOf: keys.of,
    unchecked: keys.unchecked,
    events: (count) => output.progress.add(count),
    fault: (one) => output.fault(one),
  });
  console.error(NOT_IN_FILE);
  if (!isHeld) console.error(NOT_HELD);
  return output.end(keys, `${events} events of a file`);
}

const NOT_IN_FILE =
  'a file has no schema, rights and tiles: audit verify checks them in the database, and compares the records there';
const NOT_HELD =
  'the log was held to no checkpoint: this check does not notice events that were edited and hashed again, or cut off at the end. Give a checkpoint with --checkpoint';

class Verification {
  readonly progress = progressOn(process.stderr);
  private readonly took = new Stopwatch();
  private faults = 0;

  fault(one: Fault): void {
    this.faults += 1;
    print(faultLine(one));
  }

  end(keys: CheckpointKeys, checked: string): number {
    this.progress.done();
    keys.tellUnchecked();
    const result = this.faults === 0 ? 'all in order' : `${this.faults} faults`;
    console.error(`${checked} in ${this.took.total} s: ${result}`);
    return this.faults;
  }
}
