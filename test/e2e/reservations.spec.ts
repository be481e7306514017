import { beforeAll, describe, expect, it } from '@jest/globals';
import type { ApiClient } from '../support/api-client.js';
import { complementOf, exchange } from '../support/echo-target.js';
import { eventually } from '../support/eventually.js';
import { FaultyProxy } from '../support/faulty-proxy.js';
import { freePort } from '../support/free-port.js';
import { OwnGateway } from '../support/own-gateway.js';
import { addAccount } from '../support/principals.js';
import { type KeyPair, newKeyPair, runSsh, type SshSession, startSession } from '../support/ssh-client.js';

const HOST = '127.0.0.1';
const ELSEWHERE = 'it is reserved for another account or credential; bind another one';
const NOT_RESERVED = 'it must be reserved before it is bound: POST /reserved_addrs';
const BYTES = Buffer.from('bytes that a tunnel carries');

/** Two accounts, each with a key without rules. */
let trial: OwnGateway;
let other: ApiClient;
let ownKey: KeyPair;
let otherKey: KeyPair;
beforeAll(async () => {
  trial = await OwnGateway.start();
  ownKey = await trial.newCredential();
  otherKey = await newKeyPair();
  other = (await addAccount(trial.service)).client;
  const body = { public_key: otherKey.publicKey, acl: [] };
  expect(await other.post('/ssh_credentials', body)).toMatchObject({ status: 201 });
});

const forwardOf = (bind: string): string => `${bind}:${HOST}:${trial.target.port}`;
const carries = async (port: number): Promise<void> =>
  expect(await exchange(HOST, port, BYTES)).toEqual(complementOf(BYTES));

/** Reserves for the first account. Returns the path of the reservation. */
async function reserve(body: { readonly addr: string } | { readonly domain: string }): Promise<string> {
  const resource = 'addr' in body ? '/reserved_addrs' : '/reserved_domains';
  const answer = await trial.service.admin.post(resource, body);
  expect(answer).toMatchObject({ status: 201 });
  return `${resource}/${answer.body.id}`;
}

/** What ssh says when the bind is refused. */
async function refusal(key: KeyPair, bind: string): Promise<string> {
  const { code, stderr } = await runSsh(trial.port, key, ['-R', forwardOf(bind)]);
  expect(code).toBe(255);
  return stderr;
}

async function bound(ssh: SshSession, count = 1): Promise<void> {
  await eventually(() => expect(ssh.output().match(/^bound .*$/gm)).toHaveLength(count), 10_000);
}

/** Expects the line within a second. */
async function closed(ssh: SshSession, line: string): Promise<void> {
  const from = performance.now();
  await eventually(() => expect(ssh.output()).toContain(line));
  expect(performance.now() - from).toBeLessThan(1_000);
}

it('an address that an account has reserved is bound by it alone, by no name, and rests after its deletion', async () => {
  const port = await freePort(HOST);
  const path = await reserve({ addr: `${HOST}:${port}` });
  const names = [HOST, 'localhost'];
  const refusals = await Promise.all(names.map((name) => refusal(otherKey, `${name}:${port}`)));
  for (const [n, name] of names.entries()) expect(refusals[n]).toContain(`refused ${name}:${port}: ${ELSEWHERE}`);
  expect(await trial.metrics()).toContain('tunnel_gateway_refused_binds_total{reason="reserved_elsewhere"} 2');
  expect(trial.log).toContainEqual(expect.objectContaining({ event: 'bind_refused', reason: 'reserved_elsewhere' }));
  const ssh = startSession(trial.port, ownKey, forwardOf(`localhost:${port}`));
  await bound(ssh);
  await carries(port);
  await trial.service.admin.delete(path);
  await closed(ssh, `closed localhost:${port}: ${NOT_RESERVED}`);
  await ssh.ended;
  await expect(exchange(HOST, port, BYTES)).rejects.toThrow('ECONNREFUSED');
  expect(await refusal(otherKey, `localhost:${port}`)).toContain(NOT_RESERVED);
});

it('what another account reserves is taken from a tunnel within a second, and its other binds stay', async () => {
  const [port, kept] = [await freePort(HOST), await freePort(HOST)];
  const binds = [`localhost:${port}`, `localhost:${kept}`, 'app.taken.test:0', 'team=blue:0'];
  const ssh = startSession(trial.port, otherKey, ...binds.map(forwardOf));
  await bound(ssh, binds.length);
  await carries(port);
  await reserve({ addr: `${HOST}:${port}` });
  await closed(ssh, `closed localhost:${port}: ${ELSEWHERE}`);
  await expect(exchange(HOST, port, BYTES)).rejects.toThrow('ECONNREFUSED');
  await reserve({ domain: '*.taken.test' });
  await closed(ssh, `closed app.taken.test: ${ELSEWHERE}`);
  await carries(kept);
  expect(ssh.output().match(/^closed /gm)).toHaveLength(2);
  ssh.kill();
});

describe('a bind to port 0', () => {
  it('takes a port that no other account has reserved, and is refused if there is none', async () => {
    const ports = [await freePort(HOST), await freePort(HOST), await freePort(HOST), await freePort(HOST)];
    const [free = 0, ...reserved] = ports;
    const servicePort = Number(new URL(trial.service.app.url).port);
    const proxy = await FaultyProxy.to(servicePort);
    const few = await OwnGateway.startFor(trial.service, `http://${proxy.host}`, {
      bindPorts: ports.map((port) => ({ min: port, max: port })),
      edgePorts: [{ min: 1, max: 1 }],
    });
    for (const port of reserved) await reserve({ addr: `${HOST}:${port}` });
    const ssh = startSession(few.port, otherKey, forwardOf('localhost:0'));
    await bound(ssh);
    expect(ssh.output()).toMatch(new RegExp(`^bound localhost:${free}\r?$`, 'm'));
    await carries(free);
    const { stderr } = await runSsh(few.port, otherKey, ['-R', forwardOf('localhost:0')]);
    expect(stderr).toContain(`refused localhost:0: ${ELSEWHERE}`);
    // It is held like a port that the client asked for, also while the gateway cannot hear of it.
    proxy.leadTo(1);
    await eventually(async () => expect(await few.metrics()).toContain('tunnel_gateway_following 0'));
    await reserve({ addr: `${HOST}:${free}` });
    await carries(free);
    proxy.leadTo(servicePort);
    await eventually(() => expect(ssh.output()).toContain(`closed localhost:${free}: ${ELSEWHERE}`));
    await ssh.ended;
  });
});
