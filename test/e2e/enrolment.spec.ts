import { spawn } from 'node:child_process';
import { mkdtemp, readFile, rm, writeFile } from 'node:fs/promises';
import { createServer } from 'node:http';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { expect, it } from '@jest/globals';
import { blocksOf } from '../support/documents.js';
import { eventually } from '../support/eventually.js';
import { freePort } from '../support/free-port.js';
import { stopAtEnd } from '../support/leftovers.js';
import { OwnGateway } from '../support/own-gateway.js';
import { GATEWAY, startService } from '../support/service.js';
import { newKeyPair } from '../support/ssh-client.js';

const HOST = '127.0.0.1';
const script = blocksOf('enrol')
  .map(({ text }) => text)
  .join('');

/** The script of the document, with nothing in its environment but what the document names. */
function startDevice(env: Record<string, string>) {
  const device = spawn('/bin/sh', ['-c', script], { env: { PATH: process.env.PATH ?? '', ...env }, detached: true });
  let output = '';
  for (const stream of [device.stdout, device.stderr]) stream.on('data', (text) => (output += text));
  const ended = new Promise<number | null>((resolve) => device.once('exit', resolve));
  stopAtEnd(async () => void (device.exitCode === null && device.pid !== undefined && process.kill(-device.pid)));
  return { ended, output: () => output };
}

async function servePage(text: string): Promise<number> {
  const server = createServer((_, answer) => answer.end(text));
  await new Promise<void>((resolve) => server.listen(0, HOST, resolve));
  stopAtEnd(async () => void server.close());
  const address = server.address();
  return typeof address === 'object' && address !== null ? address.port : 0;
}

it('a shell with only openssh and curl enrols, checks the host key, and serves a page at its own port', async () => {
  const port = await freePort(HOST);
  const service = await startService({ ...GATEWAY, addressPools: [{ host: HOST, from: port, to: port, region: '' }] });
  const listen = { host: HOST, port: await freePort(HOST) };
  const gateway = await OwnGateway.startFor(service, service.app.url, { sshListen: listen, publicAddress: listen });
  const known = async () => (await service.admin.get('/caller')).body.gateways;
  await eventually(async () => expect(await known()).toMatchObject([{ address: `${HOST}:${gateway.port}` }]));
  const sent = { acl: ['bind:{addr}'], reserve_addr: true, max_uses: 1 };
  const { body: key } = await service.admin.post('/enrollment_keys', sent);
  const DIR = await mkdtemp(join(tmpdir(), 'tas-device-'));
  stopAtEnd(() => rm(DIR, { recursive: true, force: true }));
  await writeFile(join(DIR, 'header'), `Authorization: Bearer ${key.token}\n`);
  const env = { DIR, API: service.app.url, NAME: 'camera-7', PORT: String(await servePage('the page of camera-7')) };
  const device = startDevice(env);
  const page = async () => (await fetch(`http://${HOST}:${port}/`)).text();
  await eventually(async () => expect(await page().catch(() => device.output())).toBe('the page of camera-7'), 20_000);
  expect(await readFile(join(DIR, 'known_hosts'), 'utf8')).toContain(`[${HOST}]:${gateway.port} ssh-ed25519 `);

  // The same device, to whom the network gives another gateway: the host key is not the one that it was told.
  const answer = await readFile(join(DIR, 'answer'), 'utf8');
  const other = `[${HOST}]:${gateway.port} ${(await newKeyPair()).publicKey}`;
  await writeFile(join(DIR, 'answer'), answer.replace(/"known_hosts":"[^"]*"/, `"known_hosts":"${other.trim()}\\n"`));
  const misled = startDevice(env);
  expect(await misled.ended).toBe(255);
  expect(misled.output()).toContain('Host key verification failed');
});
