import type { MaintenanceDatabase } from '../../database/dedicated-connections.js';
import { verify } from '../../log/checks/verify.js';
import { READ_MODELS } from '../../read-models.js';
import { print } from '../print.js';
import { progressOn } from '../progress.js';
import { Stopwatch } from '../stopwatch.js';
import type { KeysOf } from './checkpoint-keys.js';

/** Checks the logs. Each fault is a line on stdout, the result a line on stderr. Resolves with the number of faults. */
export async function printVerification(
  database: MaintenanceDatabase,
  account: string | undefined,
  keysOf: KeysOf,
): Promise<number> {
  const took = new Stopwatch();
  const progress = progressOn(process.stderr);
  let faults = 0;
  const { accounts, events } = await verify(database, READ_MODELS, {
    account,
    keysOf,
    begin: (one, size) => progress.begin(`verify ${one}`, 'events', size),
    events: (count) => progress.add(count),
    fault: ({ account: one, what }) => {
      faults += 1;
      print(`${one ?? 'all accounts'}\t${what}`);
    },
  });
  progress.done();
  const result = faults === 0 ? 'all in order' : `${faults} faults`;
  console.error(`${events} events of ${accounts} accounts in ${took.total} s: ${result}`);
  return faults;
}
