import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { heldStatements, holdDecisions, untilHeld } from '../support/held-reads.js';
import { newPublicKey } from '../support/keys.js';
import { addManyCredentials } from '../support/many-credentials.js';
import { addAccount, type TestPrincipal } from '../support/principals.js';
import { GATEWAY, type Service, startService } from '../support/service.js';
import { credentialOf, newSession, newTunnel, ReportingGateway } from '../support/session-reports.js';

const AUTOCANNON = new URL('../../node_modules/autocannon/autocannon.js', import.meta.url).pathname;
const FLOOD_SECONDS = 4;
const WARM_UP_MS = 1_500;
const MEASURED_MS = 1_500;
/** Without places a list would wait for, and hold, all connections to the database. */
const MAX_RATIO_OF_LISTS = 1.5;
/** In one turn of the event loop, each flood below makes a neighbour wait 50 to 500 times as long as without it. */
const MAX_RATIO = 5;
/** A policy is read in one piece of some milliseconds, and a request of a neighbour needs several turns. */
const MAX_RATIO_OF_POLICIES = 10;
/** Some megabytes, which each connection reads several times. */
const EXPORTED = 10_000;

let service: Service;
let folder: string;
let flooding: TestPrincipal;
let neighbour: TestPrincipal;
let key: string;
let own: string;

beforeAll(async () => {
  service = await startService({ ...GATEWAY, auditReadTimeoutMs: 20_000 });
  folder = await mkdtemp(join(tmpdir(), 'checks-'));
  flooding = await addAccount(service);
  neighbour = await addAccount(service);
  key = newPublicKey();
  own = `/ssh_credentials/${(await neighbour.client.post('/ssh_credentials', { public_key: key })).body.id}`;
});
afterAll(async () => {
  await service.stop();
  await rm(folder, { recursive: true });
});

const thousand = <Item>(make: (n: number) => Item): Item[] => Array.from({ length: 1000 }, (_, n) => make(n));

/** Names that take long to look up, as many as a question has: each dot may begin the suffix of a rule. */
const DEEP_TARGETS = Array.from({ length: 130 }, (_, n) => ({ domain: `h${n}.${'a.'.repeat(115)}example` }));
const DEEP_RULES = thousand((n) => `bind:h${n}.${'a.'.repeat(22)}example`);

/** As large as a policy can be. Its name is another one in each request: see autocannon's -I. */
const LONG_POLICY = JSON.stringify({
  on_tcp_connect: Array.from({ length: 100 }, (_, n) => ({
    ...(n === 0 && { name: '[<id>]' }),
    expressions: [
      `conn.client_port == ${n + 1} && inCidrRange(conn.client_ip, '10.0.0.0/8') && '${'a'.repeat(30)}' != ''`,
    ],
    actions: [{ type: 'deny' }],
  })),
});

/** Thirty connections that send `body` again and again. Resolves with the count of 200s. */
async function flood(path: string, body: unknown): Promise<number> {
  const file = join(folder, 'body.json');
  await writeFile(file, JSON.stringify(body));
  return send(path, '-m', 'POST', '-i', file, '-c', '30', '-I', '-H', 'content-type=application/json');
}

/** Requests of the flooding account, from a process of its own. Resolves with the count of 200s. */
async function send(path: string, ...options: readonly string[]): Promise<number> {
  const common = ['-d', String(FLOOD_SECONDS), '-t', '60', '-H', `authorization=Bearer ${flooding.client.token}`];
  const child = spawn(process.execPath, [AUTOCANNON, ...common, ...options, '--json', service.app.url + path]);
  let output = '';
  child.stdout.on('data', (data: Buffer) => {
    output += data;
  });
  await once(child, 'close');
  return JSON.parse(output)['2xx'];
}

const middle = (times: readonly number[]): number => times.toSorted((a, b) => a - b)[times.length >> 1] ?? Number.NaN;

const slowest = (times: readonly number[]): number =>
  times.toSorted((a, b) => a - b)[Math.floor(times.length * 0.99)] ?? Number.NaN;

/** The median time of each of the neighbour's questions, or another one, asked one after the other until the time is over. */
async function measure(of = middle): Promise<number[]> {
  const question = { public_key: key, target: { domain: 'www.example.com' } };
  const asks = [
    () => neighbour.client.get(own),
    () => neighbour.client.patch(own, { description: String(performance.now()) }),
    () => service.gateway.post('/ssh_gateway/authorize', question),
  ];
  const end = performance.now() + MEASURED_MS;
  const timesOf = async (ask: (typeof asks)[number]): Promise<number> => {
    const times: number[] = [];
    while (performance.now() < end) {
      const start = performance.now();
      expect((await ask()).status).toBe(200);
      times.push(performance.now() - start);
    }
    return of(times);
  };
  return Promise.all(asks.map(timesOf));
}

describe('an account that sends checks of 1,000 rules and 32 KiB of targets on 30 connections', () => {
  it.each(['/acl/check', '/ssh_credentials/{id}/check'])(
    `delays the GET, PATCH and authorize of another account at most ${MAX_RATIO} times: POST %s`,
    async (route) => {
      const credential = { public_key: newPublicKey(), acl: DEEP_RULES };
      const { id } = (await flooding.client.post('/ssh_credentials', credential)).body;
      await measure();
      const quiet = await measure();
      const flooded = flood(route.replace('{id}', id), {
        target: DEEP_TARGETS,
        ...(route === '/acl/check' && { acl: DEEP_RULES }),
      });
      await sleep(WARM_UP_MS);
      const ratios = (await measure()).map((time, n) => time / (quiet[n] ?? Number.NaN));
      expect(await flooded).toBeGreaterThan(0);
      expect(Math.max(...ratios)).toBeLessThan(MAX_RATIO);
    },
  );
});

describe('an account that lists on 500 connections', () => {
  it(`delays the GET and PATCH of another account at most ${MAX_RATIO_OF_LISTS} times as much as by as many plain GETs`, async () => {
    const credential = await credentialOf(service, flooding);
    const sessions = Array.from({ length: 100 }, () => newSession(credential));
    const tunnels = sessions.flatMap((session) => Array.from({ length: 10 }, () => newTunnel(session)));
    await new ReportingGateway(service.gateway).whole({ sessions, tunnels });
    expect((await flooding.client.get('/tunnel_sessions')).body.tunnel_sessions).toHaveLength(100);
    const under = async (path: string): Promise<number[]> => {
      const flooded = send(path, '-c', '500');
      await sleep(WARM_UP_MS);
      const times = await measure();
      expect(await flooded).toBeGreaterThan(0);
      return times;
    };
    const plain = await under(`/ssh_credentials/${credential.id}`);
    const [get = Number.NaN, patch = Number.NaN] = (await under('/tunnel_sessions')).map(
      (ms, n) => ms / (plain[n] ?? 0),
    );
    expect(Math.max(get, patch)).toBeLessThan(MAX_RATIO_OF_LISTS);
  });
});

describe('an account that sends checks of a large traffic policy on 30 connections', () => {
  it.each([
    ['that is another one each time', LONG_POLICY],
    ['that is the same each time', LONG_POLICY.replace('[<id>]', 'a')],
  ])(
    `delays the GET, PATCH and authorize of another account at most ${MAX_RATIO_OF_POLICIES} times: one %s`,
    async (_, value) => {
      const { body } = await flooding.client.post('/traffic_policy/check', { value, source: '10.0.0.7' });
      expect(body.reason).toBe('no_action_ends');
      await measure();
      const quiet = await measure();
      const flooded = flood('/traffic_policy/check', { value, source: '10.0.0.7' });
      await sleep(WARM_UP_MS);
      const ratios = (await measure()).map((time, n) => time / (quiet[n] ?? Number.NaN));
      expect(await flooded).toBeGreaterThan(0);
      expect(Math.max(...ratios)).toBeLessThan(MAX_RATIO_OF_POLICIES);
    },
  );
});

describe('an account that exports its log again and again', () => {
  it(`delays one of a hundred GETs, PATCHes and authorizes of another account at most ${MAX_RATIO} times`, async () => {
    await addManyCredentials(service.pool, flooding, EXPORTED);
    await measure();
    const quiet = await measure(slowest);
    const exported = send('/log/export', '-c', '1');
    await sleep(WARM_UP_MS);
    const ratios = (await measure(slowest)).map((time, n) => time / (quiet[n] ?? Number.NaN));
    expect(await exported).toBeGreaterThan(0);
    expect(Math.max(...ratios)).toBeLessThan(MAX_RATIO);
  });
});

describe('an account whose audit reads all wait', () => {
  it('delays no read, no write, no gateway and no audit read of another account', async () => {
    const held = await holdDecisions(service);
    const waiting = Array.from({ length: 60 }, () => flooding.client.get('/bind_decisions'));
    await untilHeld(service, 2);
    const answers = await Promise.all([
      neighbour.client.get(own),
      neighbour.client.patch(own, { description: 'changed' }),
      neighbour.client.post('/ssh_credentials', { public_key: newPublicKey() }),
      service.gateway.post('/ssh_gateway/authorize', { public_key: key, target: { domain: 'a.example' } }),
      neighbour.client.get('/events?limit=1'),
      neighbour.client.get(`${own}/events`),
      neighbour.client.get(`${own}?as_of=1`).then(({ status }) => ({ status: status === 404 ? 200 : status })),
      neighbour.client.get('/ssh_credentials?as_of=1'),
      flooding.client.get('/ssh_credentials'),
    ]);
    expect(answers.map(({ status }) => status)).toEqual([200, 200, 201, 200, 200, 200, 200, 200, 200]);
    expect(await heldStatements(service)).toHaveLength(2);
    await held.release();
    expect(new Set((await Promise.all(waiting)).map(({ status }) => status))).toEqual(new Set([200]));
  });
});
