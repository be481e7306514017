import type { Command } from 'commander';
import { withExamples } from '../help.js';

/** Makes `command` start the service. */
export function asStart(command: Command): Command {
  command
    .description(
      'Start the service. It takes its settings from environment variables: docs/settings.md has all of them. A DATA_DIR without a database gets one',
    )
    .option('--with-gateway', 'run an SSH gateway in the same process: docs/own-gateway.md')
    // Loaded late, since no other command needs the service.
    .action(async (options: { withGateway?: boolean }) => (await import('./serve.js')).serve(options.withGateway));
  return withExamples(command, 'start', 'start --with-gateway');
}
