import { once } from 'node:events';
import { request } from 'node:http';
import { createServer } from 'node:net';
import { setTimeout as sleep } from 'node:timers/promises';
import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { createApp } from '../../src/app.js';
import { ApiClient } from '../support/api-client.js';
import { EventStream } from '../support/event-stream.js';
import { newPublicKey } from '../support/keys.js';
import { METRICS_TOKEN, seriesValue } from '../support/metrics.js';
import { type LogLine, logLines, type RunningMain, runCli, startMain, stopMain } from '../support/process.js';
import { ADMIN_KEY, cloneDatabase, testConfig } from '../support/service.js';
import { ALONE, childrenOf, pidsIn } from '../support/workers.js';

const KEY_LIMIT = 120;
const FAILURE_LIMIT = 7;
const GATEWAY_TOKEN = 'token-of-all-accounts-0123456789';
const OWN_TOKEN = 'token-of-one-account-0123456789';

const numbers = (count: number): number[] => Array.from({ length: count }, (_, n) => n + 1);
const workerOf = ({ worker }: LogLine): unknown => worker;
const said = (main: RunningMain): string[] => logLines(main).map(({ msg }) => msg);
const isRunning = (pid: number): boolean => {
  try {
    return process.kill(pid, 0);
  } catch {
    return false;
  }
};

async function until(isTrue: () => boolean | Promise<boolean>): Promise<void> {
  for (const deadline = Date.now() + 30_000; !(await isTrue()); await sleep(20)) {
    if (Date.now() > deadline) throw new Error(`it is not so after 30 s:\n${main.output()}`);
  }
}

let database: Awaited<ReturnType<typeof cloneDatabase>>;
let main: RunningMain;
let url: string;
let admin: ApiClient;
let account: string;

beforeAll(async () => {
  database = await cloneDatabase();
  await (await createApp(testConfig(database.url))).close();
  account = await printedBy(/ac_[0-9A-Za-z]{27}/, 'accounts', 'create', 'Other');
  main = startMain({
    WORKERS: '2',
    DATABASE_URL: database.url,
    BOOTSTRAP_API_KEY: ADMIN_KEY,
    LOG_REQUESTS: 'all',
    METRICS_TOKEN,
    GATEWAY_TOKENS: `${GATEWAY_TOKEN},own@${account}=${OWN_TOKEN}`,
    KEY_REQUESTS_PER_MINUTE: String(KEY_LIMIT),
    AUTH_FAILURES_PER_MINUTE: String(FAILURE_LIMIT),
  });
  url = await main.url;
  admin = new ApiClient(url, await newKey());
});
afterAll(async () => {
  await stopMain(main);
  await database.drop();
});

async function printedBy(pattern: RegExp, ...command: string[]): Promise<string> {
  const { stdout, stderr } = await runCli({ DATABASE_URL: database.url }, ...command);
  const found = pattern.exec(stdout + stderr)?.[0];
  if (found === undefined) throw new Error(`${command.join(' ')} printed ${stdout}${stderr}`);
  return found;
}

const newKey = (): Promise<string> => printedBy(/[0-9A-Za-z]{27}_[\w-]{32}/, 'api-keys', 'create');

const get = (client: ApiClient, path = '/ssh_credentials?limit=1') => client.get(path, ALONE);
const statuses = (answers: readonly { status: number }[]): number[] => answers.map(({ status }) => status).sort();

async function metrics(): Promise<string> {
  const response = await fetch(`${url}/metrics`, {
    headers: { authorization: `Bearer ${METRICS_TOKEN}`, ...ALONE },
  });
  return response.text();
}

describe('WORKERS=2', () => {
  it('serves requests in two processes, whose log lines carry their numbers', async () => {
    await Promise.all(numbers(6).map(() => get(admin)));
    const answers = logLines(main).filter(({ route }) => route === '/ssh_credentials');
    expect(new Set(answers.map(workerOf))).toEqual(new Set([1, 2]));
    expect(new Set(answers.map(({ pid }) => pid)).size).toBe(2);
    expect(answers.map(({ pid }) => pid)).not.toContain(main.child.pid);
  });

  it('says once that it is ready, and that there is no key for checkpoints', () => {
    expect(said(main).filter((text) => text.includes('is ready at'))).toHaveLength(1);
    expect(said(main).filter((text) => text.includes('CHECKPOINT_KEY is not set'))).toHaveLength(1);
    expect(said(main).filter((text) => text.startsWith('migration '))).toEqual([]);
  });

  it('shows what one worker wrote in the next answer of the other', async () => {
    for (const _ of numbers(4)) {
      const { status, body } = await admin.post('/ssh_credentials', { public_key: newPublicKey() }, ALONE);
      expect(status).toBe(201);
      expect((await get(admin, `/ssh_credentials/${body.id}`)).body).toMatchObject({ id: body.id });
      expect((await admin.delete(`/ssh_credentials/${body.id}`, ALONE)).status).toBe(204);
      expect((await get(admin, `/ssh_credentials/${body.id}`)).status).toBe(404);
    }
    const lines = logLines(main);
    const created = lines.findIndex(({ msg }) => msg === 'POST /ssh_credentials 201');
    expect(lines[created + 1]?.msg).toBe('GET /ssh_credentials/:id 200');
    expect(lines[created + 1]?.worker).not.toBe(lines[created]?.worker);
  });

  it('shares the connections to the database out', async () => {
    const text = await metrics();
    expect(seriesValue(text, 'tunnel_access_pool_connections_max{pool="shared"}')).toBe(10);
    expect(seriesValue(text, 'tunnel_access_pool_connections_max{pool="dear_reads"}')).toBe(4);
  });
});

describe('a limit holds for all workers together', () => {
  it('of the requests of a key, to the exact number', async () => {
    const client = new ApiClient(url, await newKey());
    const answers = await Promise.all(numbers(KEY_LIMIT + 6).map(() => get(client)));
    expect(statuses(answers)).toEqual([...Array(KEY_LIMIT).fill(200), ...Array(6).fill(429)]);
    const remaining = answers.map(({ headers }) => Number(/r=(\d+)/.exec(headers.get('ratelimit') ?? '')?.[1]));
    expect(new Set(remaining).size).toBe(KEY_LIMIT);
    expect(said(main).filter((text) => text.includes(`more than ${KEY_LIMIT} requests in a minute`))).toHaveLength(1);
  });

  it('of the failed authentications of an address', async () => {
    const guesser = new ApiClient(url, 'not-a-key-of-anyone');
    const answers = await Promise.all(numbers(FAILURE_LIMIT + 3).map(() => get(guesser)));
    expect(statuses(answers)).toEqual([...Array(FAILURE_LIMIT).fill(401), 429, 429, 429]);
  });

  it('of the live feeds of an account, whose places are free again when they are closed', async () => {
    const feeds = await Promise.all(numbers(101).map(() => EventStream.open(`${url}/events`, ADMIN_KEY)));
    const [refused, ...further] = feeds.filter(({ response }) => response.statusCode !== 200);
    expect([refused?.response.statusCode, further.length]).toEqual([429, 0]);
    expect(seriesValue(await metrics(), 'tunnel_access_followers')).toBe(100);
    for (const feed of feeds) feed.close();
    await until(async () => seriesValue(await metrics(), 'tunnel_access_followers') === 0);
    const again = await EventStream.open(`${url}/events`, ADMIN_KEY);
    expect(again.response.statusCode).toBe(200);
    again.close();
  });

  it('of the streams of a gateway; those of a killed worker are free again', async () => {
    const open = () => EventStream.open(`${url}/ssh_gateway/changes`, GATEWAY_TOKEN);
    const streams = await Promise.all(numbers(11).map(open));
    const refused = streams.filter(({ response }) => response.statusCode === 429);
    expect(refused).toHaveLength(1);
    const kept = await killWorker(2);
    await until(() => streams.some(({ response }) => response.destroyed && response.statusCode === 200));
    // Until the primary has noticed the end, a connection can go to the worker that is gone, and stay without an answer.
    await kept.isReplaced();
    expect((await open()).response.statusCode).toBe(200);
    for (const stream of streams) stream.close();
  });
});

/** Ends a worker as the kernel does when memory is short. */
async function killWorker(number: number) {
  const again = `worker ${number} serves again`;
  const before = said(main).filter((text) => text === again).length;
  process.kill(pidsIn(main).get(number) ?? 0, 'SIGKILL');
  return { isReplaced: () => until(() => said(main).filter((text) => text === again).length > before) };
}

describe('the metrics of any worker', () => {
  const CREATED = 'tunnel_access_http_requests_total{method="POST",route="/bot_users",status="201"}';

  it('are the sums of all, also after a worker was killed', async () => {
    await Promise.all(numbers(5).map((n) => admin.post('/bot_users', { name: `bot ${n}` }, ALONE)));
    const both = await Promise.all([metrics(), metrics()]);
    expect(both.map((text) => seriesValue(text, CREATED))).toEqual([5, 5]);
    const { isReplaced } = await killWorker(1);
    await isReplaced();
    expect(seriesValue(await metrics(), CREATED)).toBe(5);
    await Promise.all(numbers(2).map((n) => admin.post('/bot_users', { name: `later bot ${n}` }, ALONE)));
    expect(seriesValue(await metrics(), CREATED)).toBe(7);
  });

  it('tell a gateway of one account its own decisions alone', async () => {
    const ask = (token: string) =>
      new ApiClient(url, token).post(
        '/ssh_gateway/authorize',
        { public_key: newPublicKey(), target: { address: '127.0.0.1:1' } },
        ALONE,
      );
    await Promise.all([...numbers(4).map(() => ask(OWN_TOKEN)), ...numbers(3).map(() => ask(GATEWAY_TOKEN))]);
    const shown = async (token: string): Promise<string> =>
      (await new ApiClient(url, token).get('/ssh_gateway/metrics', ALONE)).body;
    const OWN = 'tunnel_access_bind_decisions_total{reason="unknown_key",gateway="own"}';
    for (const _ of numbers(2)) expect(seriesValue(await shown(OWN_TOKEN), OWN)).toBe(4);
    expect(await shown(OWN_TOKEN)).not.toContain('{reason="unknown_key"}');
    expect(seriesValue(await shown(GATEWAY_TOKEN), 'tunnel_access_bind_decisions_total{reason="unknown_key"}')).toBe(3);
  });
});

describe('kill -9 of a worker', () => {
  it('loses no answered write, the other goes on, and it is replaced with a sentence in the log', async () => {
    const client = new ApiClient(url, await newKey());
    const answered: string[] = [];
    let failed = 0;
    const write = async (name: string): Promise<void> => {
      const sent = client.post('/bot_users', { name }, ALONE).catch(() => undefined);
      // Node loses a connection that was on its way to the worker: it stays open, and has no answer.
      const created = await Promise.race([sent, sleep(10_000, undefined, { ref: false })]);
      if (created?.status === 201) answered.push(created.body.id);
      else failed += 1;
    };
    const load = Promise.all(
      numbers(8).map(async (n) => {
        for (const m of numbers(8)) await write(`load ${n} ${m}`);
      }),
    );
    await until(() => answered.length > 10);
    const { isReplaced } = await killWorker(1);
    await load;
    await isReplaced();
    expect(answered.length).toBeGreaterThan(30);
    expect(answered.length + failed).toBe(64);
    const kept = (await new ApiClient(url, await newKey()).pages('/bot_users?limit=100', 'bot_users')).flat();
    expect(answered.filter((id) => !kept.includes(id))).toEqual([]);
    expect(said(main)).toContainEqual(
      expect.stringMatching(/^worker 1 ended \(SIGKILL\); starting another( in 1 s)?$/),
    );
  });
});

describe('a stop', () => {
  const settings = () => ({ WORKERS: '2', DATABASE_URL: database.url, LOG_REQUESTS: 'all' });
  /** A request whose body does not end before it is told to. */
  function slowRequest(base: string, name: 'one' | 'two') {
    const sent = request(`${base}/bot_users`, {
      method: 'POST',
      agent: false,
      headers: { authorization: `Bearer ${ADMIN_KEY}`, 'content-type': 'application/json', 'content-length': '14' },
    });
    const status = once(sent, 'response').then(([response]) => response.resume().statusCode as number);
    status.catch(() => undefined);
    sent.write('{"name":');
    return { status, end: () => sent.end(`"${name}"}`) };
  }

  it('finishes the requests of all workers, goes by the first signal, and ends every process with 0', async () => {
    const stopping = startMain(settings());
    const base = await stopping.url;
    const slow = (['one', 'two'] as const).map((name) => slowRequest(base, name));
    await sleep(300);
    // A terminal sends its signal to all processes, and npm sends it again.
    stopping.child.kill('SIGINT');
    await until(() => said(stopping).some((text) => text.startsWith('SIGINT: finishing')));
    stopping.child.kill('SIGTERM');
    await sleep(300);
    for (const { end } of slow) end();
    expect(await Promise.all(slow.map(({ status }) => status))).toEqual([201, 201]);
    const pids = [...pidsIn(stopping).values()];
    expect(await stopping.ended).toMatchObject({ code: 0 });
    expect(pids).toHaveLength(2);
    expect(pids.filter(isRunning)).toEqual([]);
    expect(said(stopping).filter((text) => /finishing|stopped/.test(text))).toEqual([
      'SIGINT: finishing the requests in flight',
      'stopped',
    ]);
  });

  it('that had to cut requests off ends with 130; workers ignore a signal of their own', async () => {
    const stopping = startMain({ ...settings(), SHUTDOWN_GRACE_MS: '500' });
    const base = await stopping.url;
    const client = new ApiClient(base, ADMIN_KEY);
    for (const _ of numbers(2)) await get(client);
    for (const pid of pidsIn(stopping).values()) process.kill(pid, 'SIGTERM');
    for (const _ of numbers(2)) expect((await get(client)).status).toBe(200);
    const { status } = slowRequest(base, 'one');
    await sleep(300);
    expect(await stopMain(stopping)).toMatchObject({ code: 130 });
    await expect(status).rejects.toThrow();
    expect(said(stopping).filter((text) => text.startsWith('requests were still running'))).toHaveLength(1);
  });

  it('right after a worker was killed does not wait for the one that replaces it', async () => {
    const stopping = startMain(settings());
    await get(new ApiClient(await stopping.url, ADMIN_KEY));
    for (const pid of pidsIn(stopping).values()) process.kill(pid, 'SIGKILL');
    await until(() => said(stopping).some((text) => text.includes('starting another')));
    expect(await stopMain(stopping)).toMatchObject({ code: 0 });
  });

  it('during the start, when a terminal ends the workers too, is no failure of the start', async () => {
    const stopping = startMain(settings());
    const { pid = 0 } = stopping.child;
    await until(() => childrenOf(pid).length === 2 || stopping.child.exitCode !== null);
    for (const child of childrenOf(pid)) process.kill(child, 'SIGINT');
    // A worker that listened to signals already goes on.
    await Promise.race([stopping.ended, stopping.url.catch(() => undefined)]);
    const { code } = await stopMain(stopping);
    expect([0, 130]).toContain(code);
    expect(said(stopping).filter((text) => text.startsWith('worker'))).toEqual([]);
  });

  it('of the primary by SIGKILL ends its workers', async () => {
    const killed = startMain(settings());
    const client = new ApiClient(await killed.url, ADMIN_KEY);
    for (const _ of numbers(2)) await get(client);
    const pids = [...pidsIn(killed).values()];
    expect(pids).toHaveLength(2);
    killed.child.kill('SIGKILL');
    await until(() => !pids.some(isRunning));
  });
});

describe('a start with WORKERS=2 that fails says one sentence and ends once', () => {
  const ended = async (settings: Record<string, string>) => {
    const failing = startMain({ WORKERS: '2', DATABASE_URL: database.url, ...settings });
    const { code } = await failing.ended;
    return { code, fatal: logLines(failing).filter(({ level }) => level === 'fatal') };
  };

  it('if a pool is too small for the workers', async () => {
    expect(await ended({ DATABASE_POOL_SIZE: '3' })).toEqual({
      code: 2,
      fatal: [expect.objectContaining({ msg: expect.stringContaining('set it to 4 or more, or lower WORKERS') })],
    });
  });

  it('if a port is in use, that of the service or that of the metrics', async () => {
    const other = createServer().listen(0, '127.0.0.1');
    await once(other, 'listening');
    const { port } = other.address() as { port: number };
    expect(await ended({ PORT: String(port) })).toEqual({
      code: 3,
      fatal: [expect.objectContaining({ msg: expect.stringContaining('stop it or set PORT') })],
    });
    expect(await ended({ METRICS_LISTEN: `127.0.0.1:${port}` })).toEqual({
      code: 3,
      fatal: [expect.objectContaining({ msg: expect.stringContaining('METRICS_LISTEN cannot be used') })],
    });
    other.close();
  });
});
