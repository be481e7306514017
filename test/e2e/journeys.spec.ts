import { randomBytes } from 'node:crypto';
import { mkdtemp, readFile, rm, writeFile } from 'node:fs/promises';
import { connect } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { beforeAll, expect, it } from '@jest/globals';
import pg from 'pg';
import { ApiClient } from '../support/api-client.js';
import { complementOf, type EchoTarget, exchange, startEchoTarget } from '../support/echo-target.js';
import { eventually } from '../support/eventually.js';
import { freePort } from '../support/free-port.js';
import { stopAtEnd } from '../support/leftovers.js';
import { type RunningMain, spawnCli, startCli, startMain } from '../support/process.js';
import { ADMIN_KEY, cloneDatabase, GATEWAY_TOKEN } from '../support/service.js';
import { type KeyPair, logIn, newKeyPair } from '../support/ssh-client.js';

/*
 * A short journey for each kind of row of "What always holds", through the built programs: two instances, a gateway, the
 * system's ssh and the commands. The tests that those rows name try the same guarantees to their ends.
 */

let settings: Record<string, string>;
let instances: readonly [RunningMain, RunningMain];
let clients: readonly [ApiClient, ApiClient];
let admin: ApiClient;
let stranger: ApiClient;
let gatewayPort: number;
let gatewayOutput: () => string;
let target: EchoTarget;
let pool: pg.Pool;
let folder: string;

const created = async (path: string, body: object, client = admin): Promise<string> =>
  (await client.create(path, body)).id;
const keyWith = async (...acl: string[]): Promise<KeyPair & { readonly id: string }> => {
  const key = await newKeyPair();
  return { ...key, id: await created('/ssh_credentials', { public_key: key.publicKey, acl }) };
};
const bind = (key: KeyPair, at: string) => logIn(gatewayPort, key, '-R', `${at}:127.0.0.1:${target.port}`);
const cli = (...args: string[]) => spawnCli(settings, ...args);

async function startGateway(serviceUrl: string): Promise<void> {
  gatewayPort = await freePort('127.0.0.1');
  const gateway = startCli(
    {
      SERVICE_URL: serviceUrl,
      GATEWAY_TOKEN,
      GATEWAY_LISTEN: `127.0.0.1:${gatewayPort}`,
      GATEWAY_BIND_PORTS: '1024-65535',
      GATEWAY_EDGE_PORTS: '20000-29999',
      GATEWAY_HOST_KEY: join(folder, 'host_key'),
    },
    'gateway',
  );
  gatewayOutput = () => gateway.stdout() + gateway.stderr();
  await eventually(() => expect(gatewayOutput()).toContain('is ready at'), 20_000);
}

beforeAll(async () => {
  folder = await mkdtemp(join(tmpdir(), 'tas-journeys-'));
  stopAtEnd(() => rm(folder, { recursive: true, force: true }));
  const database = await cloneDatabase();
  stopAtEnd(database.drop);
  const key = await spawnCli({}, 'audit', 'key', 'journeys');
  settings = {
    DATABASE_URL: database.url,
    BOOTSTRAP_API_KEY: ADMIN_KEY,
    GATEWAY_TOKENS: GATEWAY_TOKEN,
    CHECKPOINT_KEY: key.stdout.trim(),
  };
  const first = startMain(settings);
  const url = await first.url;
  const second = startMain(settings);
  instances = [first, second];
  clients = [new ApiClient(url, ADMIN_KEY), new ApiClient(await second.url, ADMIN_KEY)];
  [admin] = clients;
  stranger = new ApiClient(url, (await cli('accounts', 'create', 'Other')).stdout.trim());
  pool = new pg.Pool({ connectionString: database.url, max: 2 });
  stopAtEnd(() => pool.end());
  target = await startEchoTarget();
  await startGateway(url);
}, 60_000);

it('a change that is sent eight times at once to two instances is in the log once', async () => {
  const body = { public_key: (await newKeyPair()).publicKey };
  const answers = await Promise.all(
    Array.from({ length: 8 }, (_, n) =>
      clients[n % 2 === 0 ? 0 : 1].post('/ssh_credentials', body, { 'idempotency-key': 'once' }),
    ),
  );
  expect(new Set(answers.map((answer) => `${answer.status} ${answer.body.id}`)).size).toBe(1);
  const { body: history } = await admin.get(`/ssh_credentials/${answers[0]?.body.id}/events`);
  expect(history.events.length).toBe(1);
});

it('what was answered before kill -9 is in the log, and the rows are its fold', async () => {
  const doomed = startMain(settings);
  const client = new ApiClient(await doomed.url, ADMIN_KEY);
  const answered: string[] = [];
  const writing = Array.from({ length: 40 }, async (_, n) => {
    const { status, body } = await client.post('/backends/tunnel_group', { labels: { n: String(n) } });
    if (status === 201) answered.push(body.id);
    if (answered.length === 10) doomed.child.kill('SIGKILL');
  });
  await Promise.allSettled(writing);
  await doomed.ended;
  expect(answered.length).toBeGreaterThanOrEqual(10);
  for (const id of answered) expect((await admin.get(`/backends/tunnel_group/${id}`)).status).toBe(200);
  const proof = await cli('projections', 'prove');
  expect({ code: proof.code, said: proof.stdout + proof.stderr }).toMatchObject({ code: 0 });
});

it('another account finds nothing of it, and cannot take its key or its hostport', async () => {
  const key = await keyWith('bind:team=own');
  const hostport = `127.0.0.1:${await freePort('127.0.0.1')}`;
  const edge = await created('/edges/tcp', { hostports: [hostport] });
  const unknown = await stranger.get(`/ssh_credentials/${key.id.slice(0, -3)}aaa`);
  expect((await stranger.get(`/ssh_credentials/${key.id}`)).body.msg).toBe(unknown.body.msg);
  expect((await stranger.get(`/edges/tcp/${edge}`)).status).toBe(404);
  expect((await stranger.post('/ssh_credentials', { public_key: key.publicKey })).body.error_code).toBe(
    'ERR_NGROK_610',
  );
  expect((await stranger.post('/edges/tcp', { hostports: [hostport] })).body.error_code).toBe('ERR_NGROK_7122');
});

it('a revoked API key is refused by every instance on the next request', async () => {
  const { body: user } = await admin.post('/users', { email: 'journey@example.test', role: 'member' });
  const { body: key } = await admin.post('/api_keys', { owner_id: user.id });
  const its = await Promise.all(instances.map(async ({ url }) => new ApiClient(await url, key.token)));
  for (const client of its) expect((await client.get('/ssh_credentials')).status).toBe(200);
  expect((await admin.delete(`/api_keys/${key.id}`)).status).toBe(204);
  for (const client of its) expect((await client.get('/ssh_credentials')).status).toBe(401);
});

it('a private key is refused, and is neither logged nor stored', async () => {
  const { file } = await newKeyPair();
  const secret = await readFile(file, 'utf8');
  const middle = secret.split('\n')[2] ?? '';
  const answer = await admin.post('/ssh_credentials', { public_key: secret });
  expect([answer.status, answer.body.error_code]).toEqual([400, 'ERR_NGROK_612']);
  expect(JSON.stringify(answer.body)).not.toContain(middle);
  for (const instance of instances) expect(instance.output()).not.toContain(middle);
  const { rows } = await pool.query('select 1 from events where strpos(data || metadata, $1) > 0', [middle]);
  expect(rows).toEqual([]);
});

it('a key binds what its rules say, every byte arrives, and its deletion ends the tunnel within a second', async () => {
  const [port, other] = [await freePort('127.0.0.1'), await freePort('127.0.0.1')];
  const key = await keyWith(`bind:127.0.0.1:${port}`);
  expect((await bind(key, `127.0.0.1:${other}`)).isOpen).toBe(false);
  const tunnel = await bind(key, `127.0.0.1:${port}`);
  expect(tunnel.isOpen ? 'open' : tunnel.output()).toBe('open');
  const bytes = randomBytes(1_000_000);
  expect((await exchange('127.0.0.1', port, bytes)).equals(complementOf(bytes))).toBe(true);
  await eventually(async () => {
    const { body } = await admin.get('/tunnel_sessions');
    expect(JSON.stringify(body)).toContain(key.id);
  }, 20_000);
  expect((await clients[1].delete(`/ssh_credentials/${key.id}`)).status).toBe(204);
  const begun = performance.now();
  await eventually(() => expect(exchange('127.0.0.1', port, Buffer.from('x'))).rejects.toThrow('ECONNREFUSED'));
  expect(performance.now() - begun).toBeLessThan(3_000);
});

it('what another account has reserved is not bound, whatever the rules', async () => {
  const port = await freePort('127.0.0.1');
  await created('/reserved_addrs', { addr: `127.0.0.1:${port}` }, stranger);
  expect((await bind(await keyWith(), `127.0.0.1:${port}`)).isOpen).toBe(false);
  const { body } = await admin.get('/bind_decisions');
  expect(JSON.stringify(body)).toContain('reserved_elsewhere');
});

it('an edge lets in whom its policy lets in, and ends what is open when the policy changes', async () => {
  const port = await freePort('127.0.0.1');
  expect((await bind(await keyWith('bind:journey=edge'), 'journey=edge:0')).isOpen).toBe(true);
  const group = await created('/backends/tunnel_group', { labels: { journey: 'edge' } });
  const edge = await created('/edges/tcp', { hostports: [`127.0.0.1:${port}`], backend: { backend_id: group } });
  const bytes = Buffer.from('through an edge');
  await eventually(async () => expect(await exchange('127.0.0.1', port, bytes)).toEqual(complementOf(bytes)), 20_000);
  const open = connect(port, '127.0.0.1');
  const ended = new Promise((resolve) => open.on('error', resolve).once('close', resolve));
  const deny = JSON.stringify({ on_tcp_connect: [{ actions: [{ type: 'deny' }] }] });
  expect((await admin.put(`/edges/tcp/${edge}/traffic_policy`, { value: deny })).status).toBe(200);
  await ended;
  await expect(exchange('127.0.0.1', port, bytes)).resolves.toEqual(Buffer.alloc(0));
});

it('a client that sends what is not SSH harms nobody and ends nothing', async () => {
  const port = await freePort('127.0.0.1');
  expect((await bind(await keyWith(), `127.0.0.1:${port}`)).isOpen).toBe(true);
  const hostile = Array.from({ length: 20 }, (_, n) => {
    const socket = connect(gatewayPort, '127.0.0.1').on('error', () => undefined);
    socket.write(n % 2 === 0 ? randomBytes(100_000) : `SSH-2.0-x\r\n${randomBytes(50_000).toString('latin1')}`);
    return socket;
  });
  const bytes = randomBytes(50_000);
  expect((await exchange('127.0.0.1', port, bytes)).equals(complementOf(bytes))).toBe(true);
  for (const socket of hostile) socket.destroy();
  expect(gatewayOutput()).not.toMatch(/"level":"(error|fatal)"/);
});

it('an export makes the same rows elsewhere, and a changed line is found', async () => {
  const { rows } = await pool.query(
    "select account_id as id from log_heads where account_id <> '' order by size desc limit 1",
  );
  const file = join(folder, 'export.ndjson');
  const exported = await cli('audit', 'export', '--account', rows[0].id);
  await writeFile(file, exported.stdout);
  expect({ code: exported.code, said: exported.stderr }).toMatchObject({ code: 0 });
  const verified = await cli('audit', 'verify', '--file', file);
  expect({ code: verified.code, said: verified.stderr }).toMatchObject({ code: 0 });
  const text = await readFile(file, 'utf8');
  await writeFile(file, text.replace('"team":"own"', '"team":"owm"').replace('bind:team=own', 'bind:team=owm'));
  expect((await cli('audit', 'verify', '--file', file)).code).toBe(1);
});
