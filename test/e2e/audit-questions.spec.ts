import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { expect, it } from '@jest/globals';
import { untilWritten, upload } from '../support/decisions.js';
import { blocksOf } from '../support/documents.js';
import { eventually } from '../support/eventually.js';
import { GatewayProcess } from '../support/gateway-process.js';
import { addUser } from '../support/principals.js';
import { ADMIN_KEY } from '../support/service.js';
import { newKeyPair, runSsh } from '../support/ssh-client.js';
import { Terminal } from '../support/terminal.js';

it('each question that people ask is answered by its command in docs/audit.md, word by word', async () => {
  const gateway = await GatewayProcess.start();
  const { service } = gateway;
  const { admin } = service;
  const { id: person } = await addUser(service, 'member');
  await admin.patch(`/users/${person}`, { role: 'admin' });
  const { publicKey: public_key } = await newKeyPair();
  const { id, fingerprint } = await upload(service, admin, { public_key, acl: ['bind:app.example.com'] });
  await upload(service, admin, { public_key: (await newKeyPair()).publicKey, acl: ['bind:else.example.com'] });
  for (const domain of ['app.example.com', 'other.example.com']) {
    await service.gateway.post('/ssh_gateway/authorize', { fingerprint, target: { domain }, source: '203.0.113.9' });
  }
  await untilWritten(service.gateway);
  const tuesday = new Date().toISOString();
  await admin.patch(`/ssh_credentials/${id}`, { description: 'no wider' });
  await admin.patch(`/ssh_credentials/${id}`, { acl: ['*'] });
  await runSsh(gateway.port, await newKeyPair(), ['-N']);
  await eventually(() => expect(gateway.output()).toContain('unknown_key'));
  const cwd = await mkdtemp(join(tmpdir(), 'tas-questions-'));
  const log = join(cwd, 'gateway.log');
  await writeFile(log, gateway.output());
  const names = { API: service.app.url, TUESDAY: tuesday, CREDENTIAL: id, PERSON: person, LOG: log };
  const terminal = Terminal.open({ cwd, env: { PATH: process.env.PATH ?? '', HOME: cwd, ...names } });
  // The terminal of the tour.
  await terminal.run(`AUTH="Authorization: Bearer ${ADMIN_KEY}"; JSON="Content-Type: application/json"`);
  await terminal.runAll(blocksOf('questions'));
  await terminal.close();
  await rm(cwd, { recursive: true });
});
