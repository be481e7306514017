import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { expect, it } from '@jest/globals';
import { blocksOf, REPOSITORY } from '../support/documents.js';
import { freePort } from '../support/free-port.js';
import { stopAtEnd } from '../support/leftovers.js';
import { startMain } from '../support/process.js';
import { ADMIN_KEY, cloneDatabase } from '../support/service.js';
import { newKeyPair, runSsh } from '../support/ssh-client.js';
import { startInForeground, Terminal } from '../support/terminal.js';

const TOUR = `field() { node -e "console.log(JSON.parse(require('fs').readFileSync(0)).$1)"; }`;
const TOKEN = 'a-token-for-the-gateway';

async function newDatabase(): Promise<string> {
  const { url, drop } = await cloneDatabase();
  stopAtEnd(drop);
  return url;
}

async function newFolder(): Promise<string> {
  const folder = await mkdtemp(join(tmpdir(), 'tas-guide-'));
  stopAtEnd(() => rm(folder, { recursive: true, force: true }));
  return folder;
}

it('the commands of docs/own-gateway.md open a tunnel, and close it', async () => {
  const cwd = await newFolder();
  const databaseUrl = await newDatabase();
  const service = startMain({ DATABASE_URL: databaseUrl, BOOTSTRAP_API_KEY: ADMIN_KEY, GATEWAY_TOKENS: TOKEN });
  const env = {
    PATH: process.env.PATH ?? '',
    HOME: process.env.HOME ?? '',
    SERVICE_URL: await service.url,
    GATEWAY_HOST_KEY: join(cwd, 'host_key'),
  };
  const [start = { text: '' }] = blocksOf('own-gateway-start');
  const gateway = await startInForeground(start.text, 'SSH gateway is ready at', { cwd: REPOSITORY, env });
  expect(gateway.output()).toMatch(/host key SHA256:/);
  const terminal = Terminal.open({ cwd, env });
  await terminal.run(
    `API=${env.SERVICE_URL} AUTH='Authorization: Bearer ${ADMIN_KEY}' JSON='Content-Type: application/json'; ${TOUR}`,
  );
  await terminal.runAll(blocksOf('own-gateway'));
  await gateway.interrupt();
}, 120_000);

it('the service with a gateway in its process stops both, and takes no setting of a token', async () => {
  const databaseUrl = await newDatabase();
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
