import type { Command } from 'commander';
import type { MaintenanceDatabase } from '../../database/dedicated-connections.js';
import { CheckFailed } from '../../operator-error.js';
import { READ_MODELS } from '../../read-models.js';
import { refuseUnknownAccount } from '../chosen-account.js';
import { withExamples } from '../help.js';
import { lowerPriority } from '../lower-priority.js';
import { onDatabase, READS } from '../run-on-database.js';
import { checkpointKeys } from './checkpoint-keys.js';
import { printVerification } from './printed-verification.js';

export function addVerifyCommand(audit: Command): void {
  const command = audit
    .command('verify')
    .description(
      'Check the logs: positions without gaps up to the head, every event and its hash, every stream, and the trigger that refuses changes. Each fault is a line on stdout, which holds the account and the fault, separated by a tab',
    )
    .option('--account <id>', 'only this account (default: all)')
    .option(
      '--key <key>',
      'an earlier public key of the checkpoints, as GET /log/key answered it, or its file; may be repeated (default: that of CHECKPOINT_KEY alone)',
      (value: string, earlier: readonly string[]) => [...earlier, value],
      [],
    )
    .action((options: VerifyOptions) => onDatabase(READS, (database) => runVerify(database, options)));
  withExamples(command, 'audit verify', 'audit verify --account ac_2Sd3gVzXW1vzFJpCFLqzmEJ9SgA');
}

interface VerifyOptions {
  readonly account?: string;
  readonly key: readonly string[];
}

async function runVerify(database: MaintenanceDatabase, { account, key }: VerifyOptions): Promise<void> {
  await refuseUnknownAccount(database, READ_MODELS, account);
  lowerPriority();
  if ((await printVerification(database, account, await checkpointKeys(key))) > 0) throw new CheckFailed();
}
