import type { Command } from 'commander';
import { READ_MODELS } from '../../api/read-models.js';
import type { MaintenanceDatabase } from '../../database/index.js';
import { repairTiles } from '../../event-log/index.js';
import { CheckFailed } from '../../kernel/operator-error.js';
import { appended } from '../appended-option.js';
import { checkpointKeys, type KeysOf } from '../checkpoint-keys.js';
import { refuseUnknownAccount } from '../chosen-account.js';
import { withExamples } from '../help.js';
import { print, tell } from '../print.js';
import { onDatabase, WRITES } from '../run-on-database.js';

export function addRepairTilesCommand(audit: Command): void {
  const command = audit
    .command('repair-tiles')
    .description(
      'Make all tiles of a log anew from the hashes of its events, if they make its newest signed checkpoint, and end the alarm about them. Each log is a line on stdout, which holds the account and what was done, separated by a tab. It runs as the owner of the tables',
    )
    .option('--account <id>', 'this account (default: each one with an open alarm about its tiles)')
    .option(
      '--key <key>',
      'a public key that signed checkpoints and is not in CHECKPOINT_KEY, as GET /log/key answered it for any account, or a file that holds one; may be repeated, oldest first',
      appended,
      [],
    )
    .action(async ({ account, key }: { account?: string; key: readonly string[] }) => {
      const keys = await checkpointKeys(key);
      await onDatabase(WRITES, async ({ asOwner, pool, interrupt }) => {
        await refuseUnknownAccount({ pool }, READ_MODELS, account);
        keys.tellIfNone();
        await asOwner((owner) => runRepair({ pool: owner, interrupt }, account, keys.of));
      });
    });
  withExamples(command, 'audit repair-tiles', 'audit repair-tiles --account ac_2Sd3gVzXW1vzFJpCFLqzmEJ9SgA');
}

const GUARD =
  'the trigger log_tiles_guard is lifted while the tiles of a log are written, and restored in the same transaction';

async function runRepair(database: MaintenanceDatabase, account: string | undefined, keysOf: KeysOf): Promise<void> {
  console.error(GUARD);
  const logs = await repairTiles(database, account, keysOf);
  for (const { account: log, refusal, ended } of logs) {
    print(`${log}\t${refusal === undefined ? 'its tiles are made anew' : `its tiles stay as they are: ${refusal}`}`);
    for (const { what } of ended) tell(`the alarm of ${log} is ended: ${what}`);
  }
  const refused = logs.filter(({ refusal }) => refusal !== undefined).length;
  if (logs.length === 0) console.error('no alarm about tiles is open: --account names a log without one');
  if (refused === 0) return;
  console.error(`${refused} of ${logs.length} logs are not those that were signed: run audit verify`);
  throw new CheckFailed();
}
