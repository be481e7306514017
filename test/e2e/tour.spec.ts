import { execFile } from 'node:child_process';
import { existsSync } from 'node:fs';
import { chmod, cp, mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { expect, it } from '@jest/globals';
import { blocksOf, REPOSITORY, type Run } from '../support/documents.js';
import { freePort } from '../support/free-port.js';
import { stopAtEnd } from '../support/leftovers.js';
import { startInForeground, Terminal } from '../support/terminal.js';

const run = promisify(execFile);

/** The files that a clone of this checkout would have, with changes that are not committed yet, in a folder of their own. */
async function cloneCheckout(): Promise<string> {
  const folder = await mkdtemp(join(tmpdir(), 'tas-clone-'));
  stopAtEnd(() => rm(folder, { recursive: true, force: true }));
  // As root the embedded server runs as another user, which must be able to enter the folder.
  await chmod(folder, 0o755);
  const { stdout } = await run('git', ['ls-files', '-z', '--cached', '--others', '--exclude-standard'], {
    cwd: REPOSITORY,
  });
  const files = stdout.split('\0').filter((file) => file !== '');
  for (const file of files) await cp(join(REPOSITORY, file), join(folder, file)).catch(ignoreDeleted);
  return folder;
}

function ignoreDeleted(error: NodeJS.ErrnoException): void {
  if (error.code !== 'ENOENT') throw error;
}

/** The end of what a start prints. */
const READY = '$(cat "$SSH_KEY.pub")\\"}"; echo';

const commandsOf = (name: Run): string =>
  blocksOf(name)
    .map(({ text }) => text)
    .join('\n');

it('a new user can follow the README, the tour, the audit example and the gateway example word by word', async () => {
  const cwd = await cloneCheckout();
  const env = {
    PATH: process.env.PATH ?? '',
    HOME: process.env.HOME ?? '',
    // 8080 may be in use here.
    PORT: String(await freePort('127.0.0.1')),
    npm_config_prefer_offline: 'true',
  };
  const service = await startInForeground(commandsOf('start'), READY, { cwd, env });
  const [, pasted = ''] = service.output().split('Try it in another terminal:\n');
  const terminal = Terminal.open({ cwd, env });
  const [listed, created] = (await terminal.run(pasted.trimEnd())).split('\n').map((line) => JSON.parse(line || '{}'));
  expect(listed).toMatchObject({ ssh_credentials: [] });
  expect(created).toMatchObject({ id: expect.stringMatching(/^sshcr_/), public_key: expect.stringMatching(/ first$/) });
  await terminal.runAll(blocksOf('tour'));
  await service.interrupt();

  const again = await startInForeground(commandsOf('gateway-start'), READY, { cwd, env });
  await terminal.runAll(blocksOf('gateway'));
  await again.interrupt();

  await terminal.runAll(blocksOf('tour-end'));
  expect(existsSync(join(cwd, 'data'))).toBe(false);
}, 600_000);
