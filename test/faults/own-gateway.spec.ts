import { connect, type Socket } from 'node:net';
import { setTimeout as sleep } from 'node:timers/promises';
import { beforeAll, expect, it, jest } from '@jest/globals';
import type { ApiClient } from '../support/api-client.js';
import { complementOf, exchange, startEchoTarget } from '../support/echo-target.js';
import { freePort } from '../support/free-port.js';
import { Killable } from '../support/killable.js';
import { type KeyPair, type Login, logIn, newKeyPair } from '../support/ssh-client.js';

jest.setTimeout(120_000);
const HOST = '127.0.0.1';
const BYTES = Buffer.from('bytes under way');

let all: Killable;
let admin: ApiClient;
let key: KeyPair;
let edgePort: number;
let tunnelTo: () => Promise<Login>;

beforeAll(async () => {
  all = await Killable.start({ GATEWAY_BIND_PORTS: '1024-65535', GATEWAY_EDGE_PORTS: '20000-29999' });
  ({ admin } = all);
  edgePort = await freePort(HOST);
  key = await newKeyPair();
  const create = async (path: string, body: object): Promise<string> => {
    const answer = await admin.post(path, body);
    expect(answer).toMatchObject({ status: 201 });
    return answer.body.id;
  };
  await create('/ssh_credentials', { public_key: key.publicKey, acl: ['bind:team=blue'] });
  const backend_id = await create('/backends/tunnel_group', { labels: { team: 'blue' } });
  await create('/edges/tcp', { hostports: [`${HOST}:${edgePort}`], backend: { backend_id } });
  const target = await startEchoTarget();
  tunnelTo = async () => {
    const login = await logIn(all.sshPort, key, '-R', `team=blue:0:${HOST}:${target.port}`);
    if (login.isOpen) return login;
    // After an outage a gateway refuses binds until it follows the changes of rights again. Clients come back.
    expect(login.output()).toContain('remote forward failure');
    await sleep(250);
    return tunnelTo();
  };
});

const serves = async (): Promise<boolean> =>
  (await exchange(HOST, edgePort, BYTES).catch(() => BYTES)).equals(complementOf(BYTES));

async function until(isSo: () => boolean | Promise<boolean>, patienceMs = 15_000): Promise<void> {
  const deadline = Date.now() + patienceMs;
  while (!(await isSo())) {
    if (Date.now() > deadline) throw new Error(`in vain: ${isSo}`);
    await sleep(50);
  }
}

/** Sends and receives until the connection ends or `stop` is called. Throws if a byte is wrong. */
async function traffic() {
  const socket: Socket = connect(edgePort, HOST);
  const ended = new Promise<void>((resolve) => socket.on('error', () => undefined).once('close', () => resolve()));
  let rounds = 0;
  const run = async (): Promise<void> => {
    while (!socket.destroyed) {
      socket.write(BYTES);
      const received = new Promise<Buffer>((resolve) => socket.once('data', resolve));
      const data = await Promise.race([received, ended]);
      if (data instanceof Buffer) expect(complementOf(data)).toEqual(BYTES);
      rounds += 1;
      await sleep(5);
    }
  };
  const running = run();
  const carries = async (): Promise<void> => {
    const before = rounds;
    await until(() => rounds > before + 3);
    expect(socket.destroyed).toBe(false);
  };
  await carries();
  const stop = async (): Promise<void> => {
    socket.destroy();
    await running;
  };
  return { carries, ended, stop };
}

/** A change is in force again, which only a gateway that follows the service can know. */
async function expectRevocation(): Promise<void> {
  const { body } = await admin.get('/edges/tcp');
  const [{ id, backend }] = body.tcp_edges;
  const path = `/edges/tcp/${id}/backend`;
  const { id: backend_id } = backend.backend;
  await until(async () => (await admin.put(path, { backend_id, enabled: false })).status === 200);
  await until(async () => !(await serves()));
  await admin.put(path, { backend_id });
  await until(serves);
}

it('after kill -9 of the database under traffic the connections go on, and changes are in force again', async () => {
  const tunnel = await tunnelTo();
  await until(serves);
  const connection = await traffic();
  await all.database.kill('SIGKILL');
  await connection.carries();
  expect(await serves()).toBe(true);
  await all.database.start();
  await connection.carries();
  await until(async () => (await admin.get('/readyz')).status === 200);
  await expectRevocation();
  await connection.stop();
  await tunnel.close();
});

it('after kill -9 of the service under traffic the connections go on, and changes are in force again', async () => {
  const tunnel = await tunnelTo();
  await until(serves);
  const connection = await traffic();
  await all.killService();
  await connection.carries();
  expect(await serves()).toBe(true);
  await all.startService();
  await connection.carries();
  await expectRevocation();
  await connection.stop();
  await tunnel.close();
});

it('after kill -9 of the gateway under traffic its clients learn it at once, and another one serves as before', async () => {
  const tunnel = await tunnelTo();
  await until(serves);
  const connection = await traffic();
  all.gateway.kill('SIGKILL');
  await connection.ended;
  expect(await serves()).toBe(false);
  await tunnel.close();
  await all.startGateway();
  const again = await tunnelTo();
  await until(serves);
  await expectRevocation();
  await again.close();
});

it('a client that vanishes without a word is noticed, its connections end, and others take its place', async () => {
  const vanishing = await tunnelTo();
  await until(serves);
  const connection = await traffic();
  vanishing.freeze();
  const other = await tunnelTo();
  await connection.ended;
  await until(async () => (await serves()) && (await serves()));
  await vanishing.close();
  await other.close();
});
