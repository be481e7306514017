import { type ChildProcess, spawn } from 'node:child_process';
import { once } from 'node:events';
import { copyFile, mkdtemp, rm, writeFile } from 'node:fs/promises';
import { createServer, type Server, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { text } from 'node:stream/consumers';
import { afterEach, beforeEach, describe, expect, it } from '@jest/globals';
import { readCurlConfig } from './curl-config.js';
import { GatewayService } from './gateway-service.js';
import { KEY_COMMAND, type LogRecord } from './log-lines.js';
import { Reaper } from './reaper.js';

const KEY = `SHA256:${'a'.repeat(43)}`;
const TOKEN = 'the-token-of-the-gateway';

/** What the service answers now. */
let service: {
  server: Server;
  token: string;
  options: string;
  changed: string[];
  /** What stands for the reservations of this moment. */
  reservations: string;
  questions: number;
  streams: ServerResponse[];
};
let folder: string;
let sshd: ChildProcess;
let output: string[];
let stop: AbortController;
/** Lines that the reaper has not read yet. */
let log: LogRecord[];

beforeEach(async () => {
  folder = await mkdtemp(join(tmpdir(), 'tas-reaper-'));
  await copyFile('/bin/sleep', join(folder, 'sshd'));
  sshd = spawn(join(folder, 'sshd'), ['60']);
  await once(sshd, 'spawn');
  [output, log] = [[], []];
  stop = new AbortController();
  const server = createServer(async (request, response) => {
    if (request.headers.authorization !== `Bearer ${service.token}`) return response.writeHead(401).end();
    if (request.url?.endsWith('/changes')) {
      service.streams.push(response);
      return response.write('event: ready\ndata: {}\n\n');
    }
    if (request.method === 'GET') service.questions += 1;
    if (request.url?.endsWith('/recheck')) return recheck(JSON.parse(await text(request)), response);
    return response.end(`${service.options} key\n`);
  });
  await once(server.listen(0, '127.0.0.1'), 'listening');
  service = {
    ...{ server, token: TOKEN, options: 'restrict', changed: [], reservations: 'one', questions: 0, streams: [] },
  };
  await configure(TOKEN);
});
afterEach(async () => {
  stop.abort();
  sshd.kill('SIGKILL');
  service.server.closeAllConnections();
  service.server.close();
  await rm(folder, { recursive: true });
});

function recheck(known: { credentials: object[]; reservations?: string }, response: ServerResponse): void {
  const { changed, reservations } = service;
  const reservations_changed = known.reservations !== reservations;
  const told = known.credentials.length === 0 ? [] : changed.map((credential_id) => ({ credential_id }));
  response.end(JSON.stringify({ changed: told, reservations, reservations_changed }));
}

const config = (): string => join(folder, 'service.curl');
async function configure(token: string): Promise<void> {
  const { port } = service.server.address() as AddressInfo;
  const url = `http://127.0.0.1:${port}/ssh_gateway/authorized_keys`;
  await writeFile(config(), `url = "${url}"\nheader = "Authorization: Bearer ${token}"\n`);
}

async function until(isSo: () => boolean): Promise<void> {
  const deadline = Date.now() + 4_000;
  while (!isSo()) {
    if (Date.now() > deadline) throw new Error(`in vain: ${isSo}\n${output.join('\n')}`);
    await new Promise(setImmediate);
  }
}

/** Follows the service and reads these lines. */
async function startReaper(lines: readonly LogRecord[]): Promise<void> {
  // Of this test: the reaper of the one before may not have ended yet.
  const [own, { signal }, printed] = [log, stop, output];
  async function* read(): AsyncGenerator<LogRecord> {
    yield* lines;
    while (!signal.aborted) {
      yield* own.splice(0);
      await new Promise((resolve) => setTimeout(resolve, 5));
    }
  }
  const reaper = new Reaper(new GatewayService(() => readCurlConfig(config())), (line) => printed.push(line));
  void reaper.run(read(), signal);
  await until(() => output.some((line) => line.startsWith('following changes')));
}

const listen = (...hosts: string[]) =>
  ['restrict', 'port-forwarding', ...hosts.map((host) => `permitlisten="${host}:*"`)].join(',');
const answered = (ids: string, options: string): LogRecord => {
  const message = `${KEY} ${ids} ${sshd.pid} ssh-ed25519 ${options} .`;
  return { at: Date.now(), program: KEY_COMMAND, pid: 1, isRoot: true, message };
};
const accepted = (): LogRecord => {
  const message = `Accepted publickey for tunnel from 192.0.2.7 port 50312 ssh2: ED25519 ${KEY}`;
  return { at: Date.now(), program: 'sshd', pid: sshd.pid ?? 0, isRoot: true, message };
};
const isEnded = (): boolean => sshd.signalCode === 'SIGTERM';
const tell = (...ids: string[]): void => {
  service.streams.at(-1)?.write(`event: changed\ndata: ${JSON.stringify({ credential_ids: ids })}\n\n`);
};

describe('a session whose sshd got two answers', () => {
  const [NARROW, WIDE] = [listen('a.test'), listen('a.test', 'b.test')];

  it.each([
    ['the narrower one came first', () => [answered('sshcr_1@1', NARROW), answered('sshcr_1@2', WIDE), accepted()]],
    ['the log has the wider one first', () => [answered('sshcr_1@2', WIDE), answered('sshcr_1@1', NARROW), accepted()]],
    [
      'the wider one is told last of all',
      () => [answered('sshcr_1@1', NARROW), accepted(), answered('sshcr_1@2', WIDE)],
    ],
  ])('is ended if it may bind less than by the wider one: %s', async (_, lines) => {
    service.options = WIDE;
    await startReaper(lines());
    service.options = NARROW;
    tell('sshcr_1');
    await until(isEnded);
  });

  it('is ended by the deletion of a credential that only the second one had', async () => {
    service.options = WIDE;
    await startReaper([answered('sshcr_1@1', NARROW), answered('sshcr_1@1,sshcr_2@1', WIDE), accepted()]);
    service.options = NARROW;
    tell('sshcr_2');
    await until(isEnded);
  });

  it('is reviewed again when the second one comes after the login', async () => {
    [service.options, service.changed] = [NARROW, ['sshcr_2']];
    await startReaper([answered('sshcr_1@1', NARROW), accepted(), answered('sshcr_1@1,sshcr_2@1', WIDE)]);
    await until(isEnded);
  });

  it('goes on if it may still bind what each of them permitted', async () => {
    service.options = WIDE;
    await startReaper([answered('sshcr_1@1', NARROW), answered('sshcr_1@2', WIDE), accepted()]);
    // The second question is asked after the first review.
    for (const _ of [1, 2]) {
      const before = service.questions;
      tell('sshcr_1');
      await until(() => service.questions > before);
    }
    expect(isEnded()).toBe(false);
  });
});

it('the token of the config counts at each connection, so that it can be changed while the reaper runs', async () => {
  await startReaper([]);
  service.token = 'another-token';
  service.server.closeAllConnections();
  await until(() => output.length > 1);
  expect(output[1]).toMatch(/^reconnecting to the service: the service at http:.*: the connection was closed/);
  await configure('another-token');
  await until(() => output.filter((line) => line.startsWith('following changes')).length === 2);
});

describe('a reservation that makes the lines of a key narrower ends its session', () => {
  const EVERYTHING = 'restrict,port-forwarding';
  /** An answer that was too long for the log. */
  const cut = (): LogRecord => ({ ...answered('sshcr_1@1', ''), message: `${KEY} sshcr_1@1 ${sshd.pid} ssh-ed25519` });
  const CHILD = 4_000_000;
  const ofChild = (message: string): LogRecord => ({
    at: undefined,
    program: 'sshd',
    pid: CHILD,
    isRoot: false,
    message,
  });
  const child = (): LogRecord => ({ ...accepted(), message: `User child is on pid ${CHILD}` });
  const bound = (port: number): LogRecord[] =>
    ['type 11 wildcard 0 addr a.test', `Local forwarding listening on 127.0.1.2 port ${port}.`].map((what) =>
      ofChild(`debug1: channels.c:channel_setup_fwd_listener_tcpip():3810 (pid=${CHILD}): ${what}`),
    );
  const reserve = (...names: string[]): void => {
    service.streams.at(-1)?.write(`event: reserved\ndata: ${JSON.stringify({ names })}\n\n`);
  };
  const reserveOfOthers = (): void => {
    service.streams.at(-1)?.write(`event: reserved\ndata: ${JSON.stringify({ names: [], of_others: true })}\n\n`);
  };
  /** Long enough for a review, which no event tells of. */
  const quiet = () => new Promise((resolve) => setTimeout(resolve, 100));

  it.each([
    ['that listens at its port', EVERYTHING, bound(7001), 'x.test:7001'],
    ['that listens anywhere, if a domain was reserved', EVERYTHING, bound(7002), 'x.test'],
    ['of whose binds the log has not told', EVERYTHING, [], 'x.test:7001'],
    ['whose lines have a pattern of the name', listen('*.test'), bound(7001), 'x.test:7001'],
    ['whose lines have a name under the reserved wildcard', listen('x.test'), bound(7002), '*.test'],
    ['whose lines are not known', undefined, bound(7001), 'x.test:7001'],
    ['whose lines and binds are not known', undefined, [], 'x.test:7001'],
  ])('%s', async (_, lines, binds, name) => {
    service.options = lines ?? EVERYTHING;
    await startReaper([lines === undefined ? cut() : answered('sshcr_1@1', lines), accepted(), child(), ...binds]);
    await quiet();
    expect(isEnded()).toBe(false);
    service.options = 'restrict';
    reserve(name);
    await until(isEnded);
    expect(output.filter((line) => line.endsWith('sshcr_1 lost a right'))).toHaveLength(1);
  });

  it('but not one that may still bind what it has, until it has a further bind', async () => {
    service.options = EVERYTHING;
    await startReaper([answered('sshcr_1@1', EVERYTHING), accepted(), child(), ...bound(7001)]);
    service.options = listen('a.test');
    reserve('x.test:7001');
    await quiet();
    expect(isEnded()).toBe(false);
    log.push(...bound(7002));
    await quiet();
    expect(isEnded()).toBe(false);
    service.options = 'restrict,port-forwarding,permitlisten="a.test:7001"';
    log.push(...bound(7003));
    await until(isEnded);
  });

  it('and then a change of its credentials, if it may no longer bind what it has', async () => {
    service.options = EVERYTHING;
    await startReaper([answered('sshcr_1@1', EVERYTHING), accepted(), child(), ...bound(7001)]);
    service.options = listen('a.test');
    reserve('x.test:7001');
    await quiet();
    tell('sshcr_1');
    await quiet();
    expect(isEnded()).toBe(false);
    service.options = listen('b.test');
    tell('sshcr_1');
    await until(isEnded);
  });

  it('also if the gateway may not know the names that others reserved', async () => {
    service.options = EVERYTHING;
    await startReaper([answered('sshcr_1@1', EVERYTHING), accepted(), child(), ...bound(7001)]);
    service.options = listen('a.test');
    reserveOfOthers();
    await quiet();
    expect(isEnded()).toBe(false);
    service.options = listen('b.test');
    reserveOfOthers();
    await until(isEnded);
  });

  it('and one whose lines are not known is decided by its binds, when the log tells of them', async () => {
    service.options = listen('a.test');
    await startReaper([cut(), accepted(), child()]);
    log.push(...bound(7001));
    await quiet();
    expect(isEnded()).toBe(false);
    service.options = listen('b.test');
    log.push(...bound(7002));
    await until(isEnded);
  });

  it('but not one that listens at other ports, until it has a further bind', async () => {
    service.options = EVERYTHING;
    await startReaper([answered('sshcr_1@1', EVERYTHING), accepted(), child(), ...bound(7002)]);
    const before = service.questions;
    service.options = 'restrict';
    reserve('x.test:7001');
    await quiet();
    expect([isEnded(), service.questions]).toEqual([false, before]);
    log.push(...bound(7003));
    await until(isEnded);
  });

  it('and asks about no session whose lines could not permit it', async () => {
    service.options = listen('a.test');
    await startReaper([answered('sshcr_1@1', service.options), accepted(), child(), ...bound(7001)]);
    const before = service.questions;
    reserve('x.test:7001', '*.other.test');
    await quiet();
    expect([isEnded(), service.questions]).toEqual([false, before]);
  });

  it.each([
    ['after sshd had asked and before the login was known', () => undefined],
    [
      'while there was no stream',
      () => {
        service.reservations = 'two';
        service.server.closeAllConnections();
      },
    ],
  ])('if it was made %s', async (what, breakStream) => {
    service.options = EVERYTHING;
    const login = [answered('sshcr_1@1', EVERYTHING), accepted()];
    const isLate = what.includes('login');
    await startReaper(isLate ? [] : login);
    service.options = 'restrict';
    breakStream();
    if (isLate) log.push(...login);
    await until(isEnded);
  });

  it('and a break without one makes it ask for no lines', async () => {
    service.options = EVERYTHING;
    await startReaper([answered('sshcr_1@1', EVERYTHING), accepted()]);
    const before = service.questions;
    service.server.closeAllConnections();
    await until(() => output.filter((line) => line.startsWith('following changes')).length === 2);
    expect(service.questions).toBe(before);
  });
});
