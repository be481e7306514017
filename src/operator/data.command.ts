import { createInterface } from 'node:readline/promises';
import type { Command } from 'commander';
import { readConfig } from '../api/config/config.js';
import { type EmbeddedData, findEmbeddedData, removeEmbeddedData } from '../database/index.js';
import { Interrupted, OperatorError, UsageError } from '../kernel/operator-error.js';
import { withExamples } from './help.js';

export function dataCommand(data: Command): void {
  withExamples(data, 'data remove');
  const remove = data
    .command('remove')
    .description(
      'Remove the embedded database of DATA_DIR for good, with its folder. This also removes its data under /var/lib/tunnel-access, even if the folder itself is gone. No instance may run on it',
    )
    .option('--yes', 'do not ask', false)
    .action(runRemove);
  withExamples(remove, 'data remove', 'data remove --yes');
}

async function runRemove({ yes }: { yes: boolean }): Promise<void> {
  const { databaseUrl, dataDir } = readConfig(process.env);
  if (databaseUrl !== undefined) {
    throw new UsageError(
      'DATABASE_URL is set, so the data is in that server: drop its database there, or unset DATABASE_URL to remove the data of DATA_DIR',
    );
  }
  const data = await findEmbeddedData(dataDir);
  if (data.paths.length === 0) throw new OperatorError(`there is no database in DATA_DIR ${data.home}`);
  if (!yes) await confirm(data);
  await removeEmbeddedData(data);
  console.error(`removed ${data.paths.join(', ')}`);
}

async function confirm({ paths }: EmbeddedData): Promise<void> {
  if (!process.stdin.isTTY || !process.stderr.isTTY) {
    throw new UsageError(`this would remove ${paths.join(', ')} for good: add --yes`);
  }
  const terminal = createInterface({ input: process.stdin, output: process.stderr });
  const answer = terminal.question(`Remove ${paths.join(', ')} and all accounts in it for good? Type yes: `);
  // At the end of the input, and after Ctrl-C, the question gets no answer.
  const ended = new Promise<string>((resolve) => terminal.once('close', () => resolve('')));
  const given = await Promise.race([answer, ended]);
  terminal.close();
  if (given.trim() !== 'yes') throw new Interrupted('not confirmed; nothing was removed');
}
