import { type ChildProcess, spawn } from 'node:child_process';
import { once } from 'node:events';
import { copyFile, mkdtemp, rm, writeFile } from 'node:fs/promises';
import { createServer, type Server, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
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
  questions: number;
  streams: ServerResponse[];
};
let folder: string;
let sshd: ChildProcess;
let output: string[];
let stop: AbortController;

beforeEach(async () => {
  folder = await mkdtemp(join(tmpdir(), 'tas-reaper-'));
  await copyFile('/bin/sleep', join(folder, 'sshd'));
  sshd = spawn(join(folder, 'sshd'), ['60']);
  await once(sshd, 'spawn');
  output = [];
  stop = new AbortController();
  const server = createServer(async (request, response) => {
    if (request.headers.authorization !== `Bearer ${service.token}`) return response.writeHead(401).end();
    if (request.url?.endsWith('/changes')) {
      service.streams.push(response);
      return response.write('event: ready\ndata: {}\n\n');
    }
    if (request.method === 'GET') service.questions += 1;
    const changed = service.changed.map((credential_id) => ({ credential_id }));
    return response.end(request.url?.endsWith('/recheck') ? JSON.stringify({ changed }) : `${service.options} key\n`);
  });
  await once(server.listen(0, '127.0.0.1'), 'listening');
  service = { server, token: TOKEN, options: 'restrict', changed: [], questions: 0, streams: [] };
  await configure(TOKEN);
});
afterEach(async () => {
  stop.abort();
  sshd.kill('SIGKILL');
  service.server.closeAllConnections();
  service.server.close();
  await rm(folder, { recursive: true });
});

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
  async function* log(): AsyncGenerator<LogRecord> {
    yield* lines;
    await once(stop.signal, 'abort');
  }
  const reaper = new Reaper(new GatewayService(() => readCurlConfig(config())), (line) => output.push(line));
  void reaper.run(log(), stop.signal);
  await until(() => output.some((line) => line.startsWith('following changes')));
}

const listen = (...hosts: string[]) =>
  ['restrict', 'port-forwarding', ...hosts.map((host) => `permitlisten="${host}:*"`)].join(',');
const answered = (ids: string, options: string): LogRecord => {
  const message = `${KEY} ${ids} ${sshd.pid} ssh-ed25519 ${options} .`;
  return { at: Date.now(), program: KEY_COMMAND, pid: 1, message };
};
const accepted = (): LogRecord => {
  const message = `Accepted publickey for tunnel from 192.0.2.7 port 50312 ssh2: ED25519 ${KEY}`;
  return { at: Date.now(), program: 'sshd', pid: sshd.pid ?? 0, message };
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
    for (const questions of [1, 2]) {
      tell('sshcr_1');
      await until(() => service.questions >= questions);
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
