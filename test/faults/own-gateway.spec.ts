import { type ChildProcess, spawn } from 'node:child_process';
import { mkdtemp, rm } from 'node:fs/promises';
import { connect, type Socket } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { beforeAll, expect, it, jest } from '@jest/globals';
import { ApiClient } from '../support/api-client.js';
import { complementOf, exchange, startEchoTarget } from '../support/echo-target.js';
import { freePort } from '../support/free-port.js';
import { stopAtEnd } from '../support/leftovers.js';
import { PostgresServer } from '../support/postgres-server.js';
import { CLI, type RunningMain, startMain } from '../support/process.js';
import { ADMIN_KEY, GATEWAY_TOKEN } from '../support/service.js';
import { type KeyPair, type Login, logIn, newKeyPair } from '../support/ssh-client.js';

jest.setTimeout(120_000);
const HOST = '127.0.0.1';
const BYTES = Buffer.from('bytes under way');

let database: PostgresServer;
let service: RunningMain;
let gateway: ChildProcess;
let restartService: () => Promise<void>;
let startGateway: () => Promise<ChildProcess>;
let admin: ApiClient;
let key: KeyPair;
let sshPort: number;
let edgePort: number;
let tunnelTo: () => Promise<Login>;

beforeAll(async () => {
  database = await PostgresServer.primary();
  await database.query('create database service');
  const port = String(await freePort(HOST));
  [sshPort, edgePort] = [await freePort(HOST), await freePort(HOST)];
  restartService = async () => {
    service = startMain({
      DATABASE_URL: `postgres://postgres@${database.host}/service`,
      BOOTSTRAP_API_KEY: ADMIN_KEY,
      GATEWAY_TOKENS: GATEWAY_TOKEN,
      LOG_LEVEL: 'error',
      PORT: port,
    });
    await service.url;
  };
  await restartService();
  admin = new ApiClient(await service.url, ADMIN_KEY);
  const folder = await mkdtemp(join(tmpdir(), 'tas-gateway-'));
  stopAtEnd(() => rm(folder, { recursive: true, force: true }));
  startGateway = async () => {
    const env = {
      PATH: process.env.PATH,
      SERVICE_URL: await service.url,
      GATEWAY_TOKEN,
      GATEWAY_LISTEN: `${HOST}:${sshPort}`,
      GATEWAY_BIND_PORTS: '1024-65535',
      GATEWAY_EDGE_PORTS: '20000-29999',
      GATEWAY_HOST_KEY: join(folder, 'host_key'),
      GATEWAY_KEEPALIVE_MS: '500',
    };
    const child = spawn(process.execPath, [CLI, 'gateway'], { env, stdio: ['ignore', 'pipe', 'pipe'] });
    stopAtEnd(async () => void child.kill('SIGKILL'));
    for await (const text of child.stdout) if (String(text).includes('is ready at')) break;
    return child;
  };
  gateway = await startGateway();
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
    const login = await logIn(sshPort, key, '-R', `team=blue:0:${HOST}:${target.port}`);
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
  await database.kill('SIGKILL');
  await connection.carries();
  expect(await serves()).toBe(true);
  await database.start();
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
  service.child.kill('SIGKILL');
  await service.ended;
  await connection.carries();
  expect(await serves()).toBe(true);
  await restartService();
  await connection.carries();
  await expectRevocation();
  await connection.stop();
  await tunnel.close();
});

it('after kill -9 of the gateway under traffic its clients learn it at once, and another one serves as before', async () => {
  const tunnel = await tunnelTo();
  await until(serves);
  const connection = await traffic();
  gateway.kill('SIGKILL');
  await connection.ended;
  expect(await serves()).toBe(false);
  await tunnel.close();
  gateway = await startGateway();
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
