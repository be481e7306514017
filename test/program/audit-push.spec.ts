import { createHmac, randomBytes } from 'node:crypto';
import { mkdtemp, readdir, readFile, rm, stat, symlink, writeFile } from 'node:fs/promises';
import { createServer, type IncomingMessage, type Server, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { text } from 'node:stream/consumers';
import { setTimeout as sleep } from 'node:timers/promises';
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, it } from '@jest/globals';
import { Collector } from '../../src/operator/audit/push/collector.js';
import { EventFeed, type LogEvent } from '../../src/operator/audit/push/event-feed.js';
import { LogPush, type Push } from '../../src/operator/audit/push/log-push.js';
import { ServiceApi } from '../../src/operator/http/service-api.js';
import { faultOfCloudEvent } from '../support/cloud-events.js';
import { blocksOf } from '../support/documents.js';
import { eventually } from '../support/eventually.js';
import { freePort } from '../support/free-port.js';
import { stopAtEnd } from '../support/leftovers.js';
import { addAccount, addUser, type TestPrincipal } from '../support/principals.js';
import { type RunningCli, runCli, startCli } from '../support/process.js';
import { ADMIN_KEY, type Service, startCopy, startService } from '../support/service.js';
import { whileTampered } from '../support/tampering.js';
import { Terminal } from '../support/terminal.js';

interface Received {
  readonly path: string | undefined;
  readonly headers: IncomingMessage['headers'];
  readonly body: string;
  readonly positions: readonly number[];
  readonly at: number;
}

type Answer = (response: ServerResponse, received: Received, count: number) => void | Promise<void>;
const accept: Answer = (response) => void response.writeHead(204).end();

/** A collector over real HTTP: it keeps what it received, and answers as the test wants. */
class TestCollector {
  readonly received: Received[] = [];
  answer: Answer = accept;
  private readonly server: Server = createServer((request, response) => void this.take(request, response));

  async start(): Promise<this> {
    await new Promise<void>((resolve) => this.server.listen(0, '127.0.0.1', resolve));
    stopAtEnd(async () => void this.server.closeAllConnections());
    return this;
  }

  get url(): string {
    return `http://127.0.0.1:${(this.server.address() as AddressInfo).port}/events`;
  }

  async stop(): Promise<void> {
    this.server.closeAllConnections();
    await new Promise((resolve) => this.server.close(resolve));
  }

  /** Of all requests, in the order of their arrival. */
  get positions(): readonly number[] {
    return this.received.flatMap(({ positions }) => positions);
  }

  async until(requests: number): Promise<void> {
    while (this.received.length < requests) await new Promise((resolve) => setTimeout(resolve, 10));
  }

  private async take(request: IncomingMessage, response: ServerResponse): Promise<void> {
    const body = await text(request);
    const events: { logposition: number }[] = JSON.parse(body);
    const positions = events.map(({ logposition }) => logposition);
    const received = { path: request.url, headers: request.headers, body, positions, at: performance.now() };
    this.received.push(received);
    await this.answer(response, received, this.received.length);
  }
}

const upTo = (last: number, after = 0): number[] => Array.from({ length: last - after }, (_, n) => after + n + 1);

let service: Service;
let by: TestPrincipal;
let auditor: TestPrincipal;
let head: number;
let collector: TestCollector;
let folder: string;

beforeAll(async () => {
  service = await startService();
  by = await addAccount(service);
  auditor = await addUser(service, 'auditor', by.client);
  for (let n = 0; n < 20; n += 1) head = await append();
});
afterAll(() => service.stop());
beforeEach(async () => {
  [collector, folder] = [await new TestCollector().start(), await mkdtemp(join(tmpdir(), 'push-'))];
  await writeFile(keyFile(), `${auditor.client.token}\n`);
});
afterEach(async () => {
  await collector.stop();
  await rm(folder, { recursive: true });
});

async function append(): Promise<number> {
  const { headers } = await by.client.post('/edges/tcp', { description: 'ünï "\\ 😀' });
  return Number(headers.get('log-position'));
}

const cursorFile = (): string => join(folder, 'cursor');
const keyFile = (): string => join(folder, 'auditor.key');
const argsOf = (args: readonly string[], url = service.app.url): string[] => [
  ...['audit', 'push', url, '--api-key-file', keyFile(), '--to', collector.url, '--cursor', cursorFile()],
  ...args,
];
const push = (...args: string[]) => runCli({}, ...argsOf(args));
const startPush = (...args: string[]): RunningCli => startCli({}, ...argsOf(args));
const readCursor = async () => JSON.parse(await readFile(cursorFile(), 'utf8'));
const tokenOf = ({ client }: TestPrincipal): string => client.token ?? '';

interface Here extends Partial<Push> {
  readonly url?: string;
  readonly key?: string;
  readonly signal?: AbortSignal;
  readonly requestMs?: number;
  readonly onceMs?: number;
}

/** The same work in this process, with short waits. */
function pushHere({ url = service.app.url, key = tokenOf(auditor), requestMs = 5_000, ...rest }: Here = {}) {
  const { signal = never(), onceMs = 5_000, ...push } = rest;
  const reports: string[] = [];
  const sent: LogEvent[] = [];
  const report = (line: string) => void reports.push(line);
  const timings = { pollMs: 20, pausesMs: [20, 40], requestMs, onceMs };
  const to = new Collector(new URL(collector.url), [], report, timings);
  const log = new EventFeed(new ServiceApi(new URL(url), key));
  const all = { sent: undefined, after: 0, maxEvents: 5, once: true, ...push };
  const done = new LogPush(log, to, all, signal, report, timings).run(async (last) => void sent.push(last));
  return { done, reports, sent };
}
/** The machine may be busy. */
const soon = (expectation: () => unknown) => eventually(expectation, 20_000);
const never = (): AbortSignal => new AbortController().signal;

describe('audit push', () => {
  it('sends every event once, in order, in valid batches of CloudEvents, with the bytes of GET /events', async () => {
    const { code, stdout, stderr } = await push('--once', '--batch', '7');
    expect([code, stdout]).toEqual([0, '']);
    // The key is shown nowhere.
    expect(stderr).toBe(
      `pushing the log of ${by.accountId} after position 0 to ${collector.url}\n` +
        `${collector.url} has the log of ${by.accountId} up to position ${head}\n`,
    );
    expect(collector.positions).toEqual(upTo(head));
    expect(collector.received.map(({ positions }) => positions.length).slice(0, -1)).toEqual(
      Array(collector.received.length - 1).fill(7),
    );
    const headers = { accept: 'application/cloudevents-batch+json', authorization: `Bearer ${tokenOf(by)}` };
    const page = await (await fetch(`${service.app.url}/events`, { headers })).text();
    expect(`[${collector.received.map(({ body }) => body.slice(1, -1)).join(',')}]`).toBe(page);
    for (const event of JSON.parse(page)) expect(faultOfCloudEvent(event)).toBeUndefined();
    for (const { headers: sent } of collector.received) {
      expect(sent['content-type']).toBe('application/cloudevents-batch+json');
      expect(sent['webhook-signature']).toBeUndefined();
    }
  });

  it('continues after its cursor, which only its owner can read, and begins after --after without one', async () => {
    expect((await push('--once', '--after', String(head - 3))).code).toBe(0);
    expect(collector.positions).toEqual(upTo(head, head - 3));
    expect(await readCursor()).toEqual({
      account: by.accountId,
      collector: collector.url,
      position: head,
      event_id: expect.stringMatching(/^[0-9a-f-]{36}$/),
    });
    expect((await stat(cursorFile())).mode & 0o777).toBe(0o600);
    head = await append();
    expect((await push('--once', '--after', '1')).code).toBe(0);
    expect(collector.positions).toEqual(upTo(head, head - 4));
    expect((await push('--once')).code).toBe(0);
    expect(collector.positions).toHaveLength(4);
    expect(await readdir(folder)).toEqual(['auditor.key', 'cursor']);
  });

  /** Runs it until this request, which is held or answered, and then kills it. Returns the positions that it sent. */
  async function killAt(request: number, isAnswered: boolean): Promise<readonly number[]> {
    const from = collector.received.length;
    const running = startPush('--batch', '6', '--once');
    collector.answer = (response, _, count) => {
      if (count < request || isAnswered) response.end('ok');
      if (count === request) running.child.kill('SIGKILL');
    };
    expect((await running.ended).code).toBe(null);
    return collector.received.slice(from).flatMap(({ positions }) => positions);
  }

  it('killed at any moment loses no event, keeps the order, and sends only the last batch again', async () => {
    const first = await killAt(2, false);
    expect([first, (await readCursor()).position]).toEqual([upTo(12), 6]);
    // The kill races with the cursor.
    const second = await killAt(3, true);
    expect(second.slice(0, 6)).toEqual(upTo(12, 6));
    const { position } = await readCursor();
    expect([6, 12, 18]).toContain(position);
    const from = collector.received.length;
    collector.answer = accept;
    expect((await push('--batch', '6', '--once')).code).toBe(0);
    const third = collector.received.slice(from).flatMap(({ positions }) => positions);
    expect(third).toEqual(upTo(head, position));
    expect(position).toBeGreaterThanOrEqual((second.at(-1) ?? 0) - 6);
    expect([...new Set(collector.positions)].sort((x, y) => x - y)).toEqual(upTo(head));
  });

  it('follows the log until SIGTERM, which ends it at once with 0, also while the collector hangs', async () => {
    const running = startPush('--after', String(head - 1));
    await collector.until(1);
    head = await append();
    await collector.until(2);
    collector.answer = () => undefined;
    const held = await append();
    await collector.until(3);
    running.child.kill('SIGTERM');
    const { code, stderr } = await running.ended;
    expect([code, stderr.split('\n').at(-2)]).toEqual([
      0,
      `${collector.url} has the log of ${by.accountId} up to position ${head}`,
    ]);
    expect((await readCursor()).position).toBe(head);
    collector.answer = accept;
    expect((await push('--once')).code).toBe(0);
    expect(collector.positions).toEqual([head - 1, head, held, held]);
    head = held;
  });

  it('signs by each secret of the file as Standard Webhooks says; a batch that is sent again has the same id', async () => {
    const secrets = [randomBytes(32), randomBytes(24)];
    const file = join(folder, 'secret');
    const lines = secrets.map((secret) => `whsec_${secret.toString('base64')}`);
    await writeFile(file, `${lines.join('\n')}\n`);
    collector.answer = (response, _, count) => void response.writeHead(count === 1 ? 503 : 200).end();
    const { code, stdout, stderr } = await push('--once', '--secret-file', file);
    expect(code).toBe(0);
    const [first, again] = collector.received;
    const { event_id: lastId } = await readCursor();
    expect(again?.headers['webhook-id']).toBe(`${by.accountId}_1-${head}_${lastId}`);
    expect([again?.headers['webhook-id'], again?.body]).toEqual([first?.headers['webhook-id'], first?.body]);
    for (const { headers, body } of collector.received) {
      const { 'webhook-id': id, 'webhook-timestamp': timestamp, 'webhook-signature': signature } = headers;
      expect(Math.abs(Number(timestamp) - Date.now() / 1000)).toBeLessThan(60);
      const signed = `${id}.${timestamp}.${body}`;
      const macs = secrets.map((secret) => createHmac('sha256', secret).update(signed).digest('base64'));
      expect(signature).toBe(macs.map((mac) => `v1,${mac}`).join(' '));
    }
    for (const line of lines) {
      for (const shown of [stdout, stderr, await readFile(cursorFile(), 'utf8')]) expect(shown).not.toContain(line);
    }
    expect(stderr).toMatch(/: it answers 503; events 1 to \d+ are sent again in \d\.\d s\n.* accepts events 1 to/);
  });
});

describe('after a restore of the database', () => {
  /** As a restore of an older backup does: the events after this position are gone. */
  async function setBack(accountId: string, position: number): Promise<void> {
    const client = await service.pool.connect();
    await client.query('begin; set local session_replication_role = replica');
    await client.query('delete from events where account_id = $1 and position > $2', [accountId, position]);
    await client.query('update log_heads set size = $2 where account_id = $1', [accountId, position]);
    await client.query('commit');
    client.release();
  }

  it('other events at the same positions have another webhook-id, so a collector that drops repeated ids gets them', async () => {
    const other = await addAccount(service);
    const addEdges = async () => {
      for (let n = 0; n < 2; n += 1) await other.client.post('/edges/tcp', {});
    };
    const pushAfter = async (after: number) => (await pushHere({ key: tokenOf(other), after }).done)?.position ?? 0;
    const after = await pushAfter(0);
    await addEdges();
    await pushAfter(after);
    await setBack(other.accountId, after);
    await addEdges();
    const last = await pushAfter(after);
    const [, first, second] = collector.received;
    expect([first?.positions, second?.positions]).toEqual([upTo(last, after), upTo(last, after)]);
    expect(second?.body).not.toBe(first?.body);
    expect(second?.headers['webhook-id']).not.toBe(first?.headers['webhook-id']);
    await pushAfter(after);
    expect(collector.received.at(-1)?.headers['webhook-id']).toBe(second?.headers['webhook-id']);
  });
});

type Change = (text: string, response: ServerResponse, count: number) => void;

/** A proxy before the service, which changes its answers. */
async function startFront(change: Change): Promise<{ url: string; stop: () => Promise<void> }> {
  let count = 0;
  const server = createServer(async ({ url, headers: { accept = '', authorization = '' } }, response) => {
    const answer = await fetch(`${service.app.url}${url}`, { headers: { accept, authorization } });
    count += 1;
    change(await answer.text(), response, count);
  });
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  const stop = stopAtEnd(async () => {
    server.closeAllConnections();
    await new Promise((resolve) => server.close(resolve));
  });
  return { url: `http://127.0.0.1:${(server.address() as AddressInfo).port}`, stop };
}

it('an event that cannot be read ends the command with 3 after those before it, and --after its position passes by', async () => {
  const other = await addAccount(service);
  for (let n = 0; n < 3; n += 1) await other.client.post('/edges/tcp', {});
  const damaged = `update events set data = '{' where account_id = '${other.accountId}' and position = 5`;
  await whileTampered(service.databaseUrl, damaged, async () => {
    const key = tokenOf(other);
    await expect(pushHere({ key, maxEvents: 100 }).done).rejects.toThrow(/The event at position 5 cannot be read/);
    expect(collector.positions).toEqual(upTo(4));
    await pushHere({ key, after: 5 }).done;
    expect(collector.positions).toEqual([...upTo(4), 6]);
  });
});

describe('the service', () => {
  it('ends the command with 3 when it does not know the key, or does not let it read the log', async () => {
    const member = await addUser(service, 'member', by.client);
    for (const [key, said] of [
      ['x'.repeat(30), 'it answers 401 '],
      [tokenOf(member), 'it answers 403 '],
    ] as const) {
      await writeFile(keyFile(), key);
      const { code, stdout, stderr } = await push();
      expect([code, stdout, stderr]).toEqual([3, '', expect.stringContaining(`${service.app.url}: ${said}`)]);
      expect(stderr).toMatch(/; check the API key\n$/);
      expect(stderr).not.toContain(key);
    }
    expect(collector.received).toEqual([]);
  });

  it('ends the command with 3 when the key is revoked while it runs', async () => {
    const revoked = await addUser(service, 'auditor', by.client);
    await writeFile(keyFile(), tokenOf(revoked));
    const running = startPush();
    await collector.until(1);
    head = Number((await by.client.delete(`/api_keys/${revoked.keyId}`)).headers.get('log-position'));
    const { code, stderr } = await running.ended;
    expect([code, stderr.split('\n').at(-2)]).toEqual([
      3,
      expect.stringMatching(/it answers 401 .*check the API key$/),
    ]);
    await writeFile(keyFile(), tokenOf(auditor));
    expect((await push('--once')).code).toBe(0);
    expect(collector.positions).toEqual(upTo(head));
  });

  it('is waited for when it is away, which is said once, and every event arrives once when it is back', async () => {
    const port = await freePort('127.0.0.1');
    const url = `http://127.0.0.1:${port}`;
    const stop = new AbortController();
    const { done, reports, sent } = pushHere({ url, once: false, signal: stop.signal });
    // A service that stops may still cut a request off.
    const away = (reason: string) => [
      expect.stringMatching(`^${url} gives no events: .*${reason}.*; asking again until it does$`),
      `${url} answers again`,
    ];
    await soon(() => expect(reports).toHaveLength(1));
    await sleep(200);
    const first = await startCopy(service, { port });
    await soon(() => expect(collector.positions).toEqual(upTo(head)));
    await first.stop();
    await soon(() => expect(reports).toHaveLength(4));
    head = await append();
    await sleep(200);
    const second = await startCopy(service, { port });
    // The collector has a batch before its answer arrives.
    await soon(() => expect(sent.at(-1)?.position).toBe(head));
    expect(collector.positions).toEqual(upTo(head));
    stop.abort();
    expect(await done).toMatchObject({ position: head });
    const begun = `pushing the log of ${by.accountId} after position 0 to ${collector.url}`;
    expect(reports).toEqual([...away('ECONNREFUSED'), begun, ...away('')]);
    await second.stop();
  });

  it('that is away ends --once with 3 after a while, and does not hold up SIGTERM', async () => {
    const url = `http://127.0.0.1:${await freePort('127.0.0.1')}`;
    await expect(pushHere({ url, onceMs: 10 }).done).rejects.toThrow(/gives no events: .*ECONNREFUSED/);
    const running = startCli({}, ...argsOf([], url));
    await soon(() => expect(running.stderr()).toContain('asking again until it does'));
    running.child.kill('SIGTERM');
    expect(await running.ended).toMatchObject({ code: 0 });
  });

  it.each<[what: string, cut: Change]>([
    [
      'breaks off within an event',
      (text, response) => void response.write(text.slice(0, -10), () => response.destroy()),
    ],
    ['ends within an event', (text, response) => void response.end(text.slice(0, -10))],
  ])('whose answer %s is asked again: no event is lost', async (_, cut) => {
    const { url, stop } = await startFront((text, response, count) => {
      if (count % 3 === 0) cut(text, response, count);
      else response.end(text);
    });
    expect(await pushHere({ url }).done).toMatchObject({ position: head });
    expect(collector.positions).toEqual(upTo(head));
    await stop();
  });

  it.each<[what: string, change: Change, said: RegExp]>([
    [
      'a redirect, which is not followed',
      (_, response) => void response.writeHead(307, { location: 'https://elsewhere.example/' }).end('moved'),
      /it answers 307 "moved"; is this the URL of the service\?$/,
    ],
    [
      'a log with a gap',
      (text, response) => void response.end(text.replace(/\n.*\n/, '\n')),
      /does not answer with the events after position 0: is this/,
    ],
  ])('is not taken for one that gives %s', async (_, change, said) => {
    const { url, stop } = await startFront(change);
    await expect(pushHere({ url }).done).rejects.toThrow(said);
    expect(collector.received).toEqual([]);
    await stop();
  });
});

describe('a collector that fails', () => {
  it.each([408, 425, 429, 500])('for a time with %d gets the same batch again, until it takes it', async (status) => {
    collector.answer = (response, _, count) => void response.writeHead(count < 3 ? status : 202).end('wait');
    const { done, reports, sent } = pushHere();
    expect(await done).toMatchObject({ position: head });
    expect(collector.positions).toEqual([...upTo(5), ...upTo(5), ...upTo(head)]);
    expect(reports.slice(1, 3)).toEqual(
      Array(2).fill(expect.stringContaining(`it answers ${status} "wait"; events 1 to 5 are sent again in 0.0 s`)),
    );
    expect(sent[0]?.position).toBe(5);
  });

  it('by closing the connection, or by not answering in time, gets the same batch again', async () => {
    collector.answer = (response, _, count) => {
      if (count === 1) response.destroy();
      if (count > 2) response.end();
    };
    const { done, reports } = pushHere({ requestMs: 200 });
    expect(await done).toMatchObject({ position: head });
    expect(collector.positions).toEqual([...upTo(5), ...upTo(5), ...upTo(head)]);
    expect(reports.slice(1, 3)).toEqual([
      expect.stringMatching(/: the connection was closed before the end of the answer; events/),
      expect.stringMatching(/: no answer within 0\.2 s; events/),
    ]);
  });

  it('is asked again after the time of its Retry-After, in seconds or as a date', async () => {
    const soon = new Date(Date.now() + 2_500).toUTCString();
    const waits = ['1', soon];
    collector.answer = (response, _, count) =>
      void response.writeHead(count < 3 ? 429 : 200, { 'retry-after': waits[count - 1] ?? '0' }).end();
    await pushHere({ after: head - 1 }).done;
    const [first, second, third] = collector.received.map(({ at }) => at);
    expect((second ?? 0) - (first ?? 0)).toBeGreaterThan(950);
    expect(collector.received).toHaveLength(3);
    expect(performance.timeOrigin + (third ?? 0)).toBeGreaterThanOrEqual(Date.parse(soon) - 20);
  });

  it.each([
    [400, {}, 'it answers 400 "no such field"'],
    [401, {}, 'it answers 401 "no such field": check the secret'],
    [413, {}, 'it answers 413 "no such field": choose a smaller --batch'],
    [
      308,
      { location: 'https://elsewhere.example/x' },
      'it answers 308 "https://elsewhere.example/x", which is not followed',
    ],
  ])('for good with %d ends the command with 3: nothing is skipped', async (status, headers, reason) => {
    collector.answer = (response, _, count) =>
      void (count === 1 ? response.end() : response.writeHead(status, headers).end('no such field'));
    const { code, stderr } = await push('--batch', '5', '--once');
    expect([code, stderr.split('\n').at(-2)]).toEqual([
      3,
      expect.stringContaining(`refuses events 6 to 10: ${reason}`),
    ]);
    expect((await readCursor()).position).toBe(5);
    expect(collector.received).toHaveLength(2);
    collector.answer = accept;
    expect((await push('--once')).code).toBe(0);
    expect(collector.positions).toEqual([...upTo(10), ...upTo(head, 5)]);
  });
});

it('the query of --to, which may hold a token, is sent and never shown', async () => {
  collector.answer = (response, _, count) => void response.writeHead(count === 1 ? 503 : 200).end();
  const { code, stdout, stderr } = await push('--once', '--to', `${collector.url}?token=SEKRET77`);
  expect([code, collector.received[1]?.path]).toEqual([0, '/events?token=SEKRET77']);
  for (const shown of [stdout, stderr, await readFile(cursorFile(), 'utf8')]) expect(shown).not.toContain('SEKRET77');
});

describe('the bounds of a batch', () => {
  it('are its number of events and about 512 KiB: large events do not add up', async () => {
    const large = await addAccount(service);
    const value = 'x'.repeat(100_000);
    for (let n = 0; n < 9; n += 1) await large.client.post('/edges/tcp', { traffic_policy: { value } });
    const { done } = pushHere({ key: tokenOf(large), maxEvents: 500 });
    const reached = await done;
    expect(collector.positions).toEqual(upTo(reached?.position ?? 0));
    expect(Math.max(...collector.received.map(({ body }) => body.length))).toBeLessThan(640 * 1024);
    expect(collector.received.length).toBeGreaterThan(1);
  });
});

it('docs/collectors.md can be followed word by word', async () => {
  const own = await startService();
  await symlink(new URL('../../dist', import.meta.url).pathname, join(folder, 'dist'));
  const env = {
    ...{ PATH: process.env.PATH ?? '', HOME: folder },
    ...{ API: own.app.url, API_KEY: ADMIN_KEY, COLLECTOR_PORT: String(await freePort('127.0.0.1')) },
  };
  const terminal = Terminal.open({ cwd: folder, env });
  await terminal.runAll(blocksOf('collector'));
  await terminal.close();
  await own.stop();
});

describe('audit push refuses', () => {
  const refusal = async (...args: string[]) => {
    const { code, stdout, stderr } = await push(...args);
    expect(stdout).toBe('');
    expect(stderr).not.toContain(tokenOf(auditor));
    expect(collector.received).toEqual([]);
    return [code, stderr];
  };
  const cursor = async (fields: object) => {
    const whole = { account: by.accountId, collector: collector.url, position: 1, event_id: 'x', ...fields };
    await writeFile(cursorFile(), JSON.stringify(whole));
  };

  it('a cursor or --after beyond the end of the log: it never waits for positions of another log', async () => {
    await cursor({ position: head + 7 });
    const sentence = new RegExp(
      `it answers 410 "after is ${head + 7}, but the log ends at position ${head}\\. .* a database was restored.* --after`,
    );
    expect(await refusal()).toEqual([3, expect.stringMatching(sentence)]);
    await rm(cursorFile());
    expect(await refusal('--after', String(head + 7))).toEqual([3, expect.stringMatching(sentence)]);
  });

  it('a cursor whose event is another one in this log', async () => {
    await cursor({ position: 2, event_id: '019aa5c1-7f2e-7c3a-9b1d-0a4f6c2e8d11' });
    expect(await refusal()).toEqual([3, expect.stringContaining(`the event at position 2 of ${by.accountId} is not`)]);
  });

  it('a log that becomes shorter while it runs', async () => {
    const other = await addAccount(service);
    const { done, sent } = pushHere({ key: tokenOf(other), once: false });
    done.catch(() => undefined);
    await soon(() => expect(sent).not.toEqual([]));
    await service.pool.query('update log_heads set size = 1 where account_id = $1', [other.accountId]);
    await expect(done).rejects.toThrow(
      /after is 3, but the log ends at position 1\..*begin after it: --after POSITION with/,
    );
  });

  it('a log that a restore has set back and that has grown again while it runs', async () => {
    const other = await addAccount(service);
    const { done, sent } = pushHere({ key: tokenOf(other), once: false });
    done.catch(() => undefined);
    await soon(() => expect(sent.at(-1)?.position).toBe(3));
    const client = await service.pool.connect();
    await client.query('begin; set local session_replication_role = replica');
    await client.query('update events set event_id = gen_random_uuid() where account_id = $1', [other.accountId]);
    await client.query('commit');
    client.release();
    await other.client.post('/edges/tcp', {});
    await expect(done).rejects.toThrow(
      /the event at position 3 of ac_\w+ is not the one that the collector got\. Was the/,
    );
    expect(collector.positions).toEqual(upTo(3));
  });

  it('the cursor of another collector or account, a file that is no cursor, and one that cannot be written', async () => {
    await cursor({ collector: 'https://siem.example/x', position: 4 });
    expect(await refusal()).toEqual([
      2,
      expect.stringMatching(/is the cursor of https:\/\/siem\.example\/x: .*--after 4\n$/),
    ]);
    await cursor({ account: 'ac_another' });
    expect(await refusal()).toEqual([
      2,
      expect.stringContaining(`belongs to account ac_another, but the API key to ${by.accountId}: name another file`),
    ]);
    const nowhere = await push('--cursor', join(folder, 'no-folder', 'cursor'));
    expect(nowhere).toMatchObject({ code: 2, stderr: expect.stringContaining('the cursor cannot be written: ENOENT') });
    for (const broken of ['', '{}', '[1]', 'null', '{"position":-1}']) {
      await writeFile(cursorFile(), broken);
      expect(await refusal()).toEqual([2, expect.stringContaining('is not a file that audit push wrote')]);
    }
  });

  it('a secret that is missing, short or of another form, and quotes none', async () => {
    const file = join(folder, 'secret');
    expect(await refusal('--secret-file', file)).toEqual([2, expect.stringContaining('cannot be read')]);
    for (const secret of ['', 'not-a-secret-of-anyone', `whsec_${'A'.repeat(8)}`, 'whsec_!!!!']) {
      await writeFile(file, secret);
      const [code, stderr] = await refusal('--secret-file', file);
      expect([code, stderr]).toEqual([2, expect.stringContaining('openssl rand -base64 32')]);
      if (secret !== '') expect(stderr).not.toContain(secret);
    }
  });

  it.each([
    ['--to ftp://a.example', /It must be an https or http URL/],
    ['--to https://ada:secret@a.example', /must not hold a user or password/],
    ['--to nowhere', /It must be an https or http URL/],
    ['--batch 0', /It must be 1 to 1000/],
    ['--batch 1001', /It must be 1 to 1000/],
    ['--after x', /A position is a whole number/],
    ['--account ac_of_before', /The API key determines the account: give a key of this account with --api-key-file/],
    ['--api-key-file /nowhere', /the file of the API key cannot be read: ENOENT/],
  ])('%s', async (args, message) => {
    expect(await refusal(...args.split(' '))).toEqual([2, expect.stringMatching(message)]);
  });
});
