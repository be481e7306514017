import type { Command } from 'commander';
import { withExamples } from '../help.js';

export const START =
  'Start the service. It reads its settings from environment variables: docs/settings.md has all of them. If DATA_DIR has no database, the start makes one';

/** Makes `command` start the service. */
export function startCommand(command: Command): Command {
  command
    .option('--with-gateway', 'run an SSH gateway in the same process: docs/own-gateway.md')
    // Imported late, since no other command needs the whole service.
    .action(async (options: { withGateway?: boolean }) => (await import('./serve.js')).serve(options.withGateway));
  return withExamples(command, 'start', 'start --with-gateway');
}
