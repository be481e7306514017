import type { Command } from 'commander';
import { newKeyText } from '../../event-log/index.js';
import { UsageError } from '../../kernel/operator-error.js';
import { withExamples } from '../help.js';
import { print } from '../print.js';

/** A URL without its scheme, as c2sp.org/tlog-checkpoint recommends. */
const NAME = /^[A-Za-z0-9][A-Za-z0-9./_-]{0,199}$/;

export function addKeyCommand(audit: Command): void {
  const command = audit
    .command('key')
    .description(
      'Print a new secret key: for CHECKPOINT_KEY, which signs the checkpoints of the logs, or for a witness. To change a key, add the new one to the end of its file, and restart all instances',
    )
    .argument('<name>', 'name of this deployment, or of the witness, in checkpoints, such as tunnels.example.com')
    .action((name: string) => {
      if (!NAME.test(name)) throw new UsageError('the name must be a host name, with or without a path');
      print(newKeyText(name));
    });
  withExamples(
    command,
    'audit key tunnels.example.com > checkpoint-key',
    'audit key tunnels-2.example.com >> checkpoint-key',
  );
}
