import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { createServer, type Server } from 'node:http';
import type { AddressInfo } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { text } from 'node:stream/consumers';
import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { faultOfCloudEvent } from '../support/cloud-events.js';
import { upload } from '../support/decisions.js';
import { eventually } from '../support/eventually.js';
import { freePort } from '../support/free-port.js';
import { startInstance } from '../support/instance.js';
import { newPublicKey } from '../support/keys.js';
import { addAccount, addUser, type TestPrincipal } from '../support/principals.js';
import { runCli, startCli } from '../support/process.js';
import { GATEWAY, type Service, startService } from '../support/service.js';
import { endOf, newSession, ReportingGateway } from '../support/session-reports.js';

/** The bound of the promise: an operator knows within this time that a device is gone. */
const WITHIN_MS = 5_000;

let service: Service;
let admin: TestPrincipal;
let folder: string;
let collector: Server;
// biome-ignore lint/suspicious/noExplicitAny: tests look into events of every type
const received: any[] = [];
let refusals = 0;
let refusal = 503;

beforeAll(async () => {
  service = await startService(GATEWAY);
  admin = await addAccount(service);
  folder = await mkdtemp(join(tmpdir(), 'session-push-'));
  const auditor = await addUser(service, 'auditor', admin.client);
  await writeFile(join(folder, 'key'), auditor.client.token ?? '');
  collector = createServer(async (request, response) => {
    const body = JSON.parse(await text(request));
    if (refusals > 0) {
      refusals -= 1;
      return void response.writeHead(refusal).end('no such field');
    }
    received.push(...body);
    response.writeHead(204).end();
  }).listen(0, '127.0.0.1');
  await new Promise((resolve) => collector.once('listening', resolve));
});
afterAll(async () => {
  collector.closeAllConnections();
  collector.close();
  await service.stop();
  await rm(folder, { recursive: true });
});

const argumentsOf = (...more: string[]): string[] => [
  ...['audit', 'push', service.app.url, '--api-key-file', join(folder, 'key'), '--sessions'],
  ...['--to', `http://127.0.0.1:${(collector.address() as AddressInfo).port}/sessions`, ...more],
];

describe('audit push --sessions', () => {
  it('tells a collector within 5 s that a session opened and that it ended, also one that was away for a moment', async () => {
    const running = startCli({}, ...argumentsOf());
    await eventually(async () => expect(running.stderr()).toContain('pushing the sessions'), 10_000);
    const credential = await upload(service, admin.client, { public_key: newPublicKey() });
    const session = newSession({ accountId: admin.accountId, id: credential.id });
    const gateway = new ReportingGateway(service.gateway);
    await gateway.whole({ sessions: [session] });
    await eventually(async () => expect(received).toHaveLength(1), WITHIN_MS);
    refusals = 1;
    await gateway.send({ ended_sessions: [endOf(session, { reason: 'lost' })] });
    await eventually(async () => expect(received).toHaveLength(2), WITHIN_MS);
    expect(received).toMatchObject([
      { type: 'tunnel_session.opened', subject: session.id, source: `/accounts/${admin.accountId}` },
      { type: 'tunnel_session.ended', subject: session.id, data: { reason: 'lost', credential_id: credential.id } },
    ]);
    expect(received.map(faultOfCloudEvent)).toEqual([undefined, undefined]);
    running.child.kill('SIGTERM');
    expect(await running.ended).toMatchObject({ code: 0 });
  });

  const started = async (...more: string[]) => {
    const running = startCli({}, ...argumentsOf(...more));
    await eventually(async () => expect(running.stderr()).toContain('pushing the sessions'), 10_000);
    return running;
  };
  const openOne = async () => {
    const credential = await upload(service, admin.client, { public_key: newPublicKey() });
    const session = newSession({ accountId: admin.accountId, id: credential.id });
    await new ReportingGateway(service.gateway).whole({ sessions: [session] });
    return session;
  };

  it('ends with 3 when the collector refuses it for good, and says where the sessions are', async () => {
    const running = await started();
    [refusals, refusal] = [1, 400];
    await openOne();
    const { code, stderr } = await running.ended;
    refusal = 503;
    const sentence =
      'refuses 1 events of sessions: it answers 400 "no such field". They are not sent again: GET /tunnel_session_records';
    expect([code, stderr]).toEqual([3, expect.stringContaining(sentence)]);
  });

  it('ends with 3 when its key is revoked', async () => {
    const auditor = await addUser(service, 'auditor', admin.client);
    await writeFile(join(folder, 'other-key'), auditor.client.token ?? '');
    const running = await started('--api-key-file', join(folder, 'other-key'));
    await admin.client.delete(`/api_keys/${auditor.keyId}`);
    const { code, stderr } = await running.ended;
    expect([code, stderr]).toEqual([3, expect.stringMatching(/it answers 401 .*; check the API key\n$/)]);
  });

  it('ends with 3 at another server than the service, and goes on after a restart of the service', async () => {
    const { code, stderr } = await runCli({}, ...argumentsOf('--to', service.app.url).with(2, `${service.app.url}/x`));
    expect([code, stderr]).toEqual([3, expect.stringContaining('is this the URL of the service, and is it as new as')]);
    const port = await freePort('127.0.0.1');
    let instance = await startInstance(service.databaseUrl, { port });
    const running = startCli({}, ...argumentsOf().with(2, instance.url));
    await eventually(async () => expect(running.stderr()).toContain('pushing the sessions'), 10_000);
    await instance.stop();
    await eventually(async () => expect(running.stderr()).toContain('asking again until it answers'), 10_000);
    instance = await startInstance(service.databaseUrl, { port });
    await eventually(
      async () => expect(running.stderr()).toContain('again; what opened or ended meanwhile is not'),
      20_000,
    );
    const session = await openOne();
    await eventually(async () => expect(received.at(-1)?.subject).toBe(session.id), WITHIN_MS);
    running.child.kill('SIGTERM');
    expect(await running.ended).toMatchObject({ code: 0 });
    await instance.stop();
  });

  it('has no past: --after and --once are refused, with what to do', async () => {
    for (const more of [['--once'], ['--after', '3']]) {
      const { code, stderr } = await runCli({}, ...argumentsOf(...more));
      expect([code, stderr]).toEqual([2, expect.stringContaining('--sessions sends news only')]);
    }
  });
});
