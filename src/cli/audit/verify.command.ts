import type { Command } from 'commander';
import type { MaintenanceDatabase } from '../../database/dedicated-connections.js';
import { verify } from '../../log/prove/verify.js';
import { CheckFailed } from '../../operator-error.js';
import { READ_MODELS } from '../../read-models.js';
import { refuseUnknownAccount } from '../chosen-account.js';
import { withExamples } from '../help.js';
import { lowerPriority } from '../lower-priority.js';
import { print } from '../print.js';
import { progressOn } from '../progress.js';
import { onDatabase, READS } from '../run-on-database.js';
import { Stopwatch } from '../stopwatch.js';

export function addVerifyCommand(audit: Command): void {
  const command = audit
    .command('verify')
    .description(
      'Check the logs: positions without gaps up to the head, versions without gaps, and every hash. Each fault is a line on stdout, which holds the account and the fault, separated by a tab',
    )
    .option('--account <id>', 'only this account (default: all)')
    .action(({ account }: { account?: string }) => onDatabase(READS, (database) => runVerify(database, account)));
  withExamples(command, 'audit verify', 'audit verify --account ac_2Sd3gVzXW1vzFJpCFLqzmEJ9SgA');
}

async function runVerify(database: MaintenanceDatabase, account: string | undefined): Promise<void> {
  await refuseUnknownAccount(database, READ_MODELS, account);
  lowerPriority();
  const took = new Stopwatch();
  const progress = progressOn(process.stderr);
  let faults = 0;
  const { accounts, events } = await verify(database, {
    account,
    begin: (one, size) => progress.begin(`verify ${one}`, 'events', size),
    events: (count) => progress.add(count),
    fault: ({ account: one, what }) => {
      faults += 1;
      print(`${one}\t${what}`);
    },
  });
  progress.done();
  const result = faults === 0 ? 'all in order' : `${faults} faults`;
  console.error(`${events} events of ${accounts} accounts in ${took.total} s: ${result}`);
  if (faults > 0) throw new CheckFailed();
}
