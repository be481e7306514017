import type { Command } from 'commander';
import { READ_MODELS } from '../../api/read-models.js';
import type { MaintenanceDatabase } from '../../database/index.js';
import { repairTiles } from '../../event-log/index.js';
import { CheckFailed } from '../../kernel/operator-error.js';
import { checkpointKeys, type KeysOf } from '../checkpoint-keys.js';
import { refuseUnknownAccount } from '../chosen-account.js';
import { withExamples } from '../help.js';
import { print, tell } from '../print.js';
import { onDatabase, WRITES } from '../run-on-database.js';
import { appended } from './appended-option.js';

export function addRepairTilesCommand(audit: Command): void {
  const command = audit
    .command('repair-tiles')
    .description(
      'Compute the tiles of the logs from the hashes of their events, check them against the signed checkpoints, and replace the stored tiles that differ. Each log that had such tiles is a line on stdout, which holds the account and what was done, separated by a tab. If the tiles of a log are then in order, the command ends the alarm about them. It runs as the owner of the tables',
    )
    .option('--account <id>', 'only this account (default: all)')
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
  let [logs, repaired, refused] = [0, 0, 0];
  console.error(GUARD);
  const ended = await repairTiles(database, {
    account,
    keysOf,
    repaired: (log) => {
      logs += 1;
      repaired += log.tiles;
      if (log.tiles > 0) print(`${log.account}\t${log.tiles} tiles repaired`);
      if (log.refusal === undefined) return;
      refused += 1;
      print(`${log.account}\tits tiles stay as they are: ${log.refusal}`);
    },
  });
  for (const { account, what } of ended) tell(`the alarm of ${account} is ended: ${what}`);
  const result =
    refused === 0 ? 'all match their checkpoints' : `${refused} logs do not match theirs; run audit verify`;
  console.error(`${repaired} tiles of ${logs} logs repaired: ${result}`);
  if (refused > 0) throw new CheckFailed();
}
