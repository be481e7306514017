import type { Command } from 'commander';
import { withExamples } from '../help.js';
import { print } from '../print.js';
import { onDatabase, WRITES } from '../run-on-database.js';

const SAMPLE_USER = 'usr_2Sd3gVzXW1vzFJpCFLqzmEJ9SgA';
export const SHOWN_ONCE = 'it is shown only once: the service keeps only its hash';

export function apiKeysCommands(apiKeys: Command): void {
  withExamples(apiKeys, 'api-keys create');
  const createKey = apiKeys
    .command('create')
    .description('Create an API key and print it on stdout. It is shown only once')
    .option('--owner <id>', 'user or bot that owns the key (default: the oldest active admin of the oldest account)')
    .option('--description <text>', 'what the key is for', 'Made by the operator')
    .action(async (options: { owner?: string; description: string }) => {
      // Imported late, since most commands do not need the framework.
      const { createApiKey } = await import('./create-api-key.js');
      await onDatabase(WRITES, async ({ pool }) => {
        const { token, ownerId } = await createApiKey(pool, options);
        console.error(`API key for ${ownerId}; ${SHOWN_ONCE}`);
        print(token);
      });
    });
  withExamples(createKey, 'api-keys create', `api-keys create --owner ${SAMPLE_USER} --description 'for the pipeline'`);
}
