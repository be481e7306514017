import type { Command } from 'commander';
import { withExamples } from '../help.js';

/** Makes `command` start the service. */
export function asStart(command: Command): Command {
  command
    .description(
      'Start the service. It takes its settings from environment variables: docs/settings.md has all of them. A DATA_DIR without a database gets one',
    )
    // Loaded late, since no other command needs the service.
    .action(async () => (await import('./serve.js')).serve());
  return withExamples(command, 'start');
}
