import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { expect, it } from '@jest/globals';
import { freePort } from '../support/free-port.js';
import { stopAtEnd } from '../support/leftovers.js';
import { startMain } from '../support/process.js';
import { ADMIN_KEY, cloneDatabase } from '../support/service.js';
import { newKeyPair, runSsh } from '../support/ssh-client.js';

async function newFolder(): Promise<string> {
  const folder = await mkdtemp(join(tmpdir(), 'tas-guide-'));
  stopAtEnd(() => rm(folder, { recursive: true, force: true }));
  return folder;
}

it('the service with a gateway in its process stops both, and takes no setting of a token', async () => {
  const { url: databaseUrl, drop } = await cloneDatabase();
  stopAtEnd(drop);
  const folder = await newFolder();
  const port = await freePort('127.0.0.1');
  const settings = {
    DATABASE_URL: databaseUrl,
    BOOTSTRAP_API_KEY: ADMIN_KEY,
    GATEWAY_LISTEN: `127.0.0.1:${port}`,
    GATEWAY_HOST_KEY: join(folder, 'key'),
  };
  const both = startMain(settings, '--with-gateway');
  await both.url;
  while (!both.output().includes('SSH gateway is ready at')) await new Promise((resolve) => setTimeout(resolve, 20));
  const { stderr } = await runSsh(port, await newKeyPair(), ['-N']);
  expect(stderr).toContain('Permission denied (publickey).');
  both.child.kill('SIGTERM');
  expect((await both.ended).code).toBe(0);
}, 60_000);
