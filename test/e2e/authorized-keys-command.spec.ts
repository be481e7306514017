import { execFile } from 'node:child_process';
import { once } from 'node:events';
import { mkdtemp, readdir, readFile, rm, writeFile } from 'node:fs/promises';
import { createServer, type RequestListener } from 'node:http';
import type { AddressInfo } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { freePort } from '../support/free-port.js';
import { stopAtEnd } from '../support/leftovers.js';

/** The command of docs/sshd-gateway, run as sshd runs it, against services with good and bad answers. */
const COMMAND = new URL('../../docs/sshd-gateway/authorized-keys', import.meta.url).pathname;
const TOKEN = 'a-token-that-nobody-may-see';
const LINE =
  'restrict,from="192.0.2.0/24" ssh-ed25519 AAAA sshcr_1@3,sshcr_2@1\nrestrict ssh-ed25519 AAAA sshcr_1@3,sshcr_2@1\n';
const FINGERPRINT = 'SHA256:a+b/c';

let folder: string;
beforeAll(async () => {
  folder = await mkdtemp(join(tmpdir(), 'tas-command-'));
});
afterAll(() => rm(folder, { recursive: true, force: true }));

interface Run {
  readonly code: number;
  readonly stdout: string;
  readonly stderr: string;
}

async function ask(port: number, ...args: string[]): Promise<Run> {
  const config = join(folder, `${port}.curl`);
  const url = `http://127.0.0.1:${port}/ssh_gateway/authorized_keys`;
  await writeFile(config, `url = "${url}"\nheader = "Authorization: Bearer ${TOKEN}"\n`);
  return runCommand(config, ...(args.length > 0 ? args : ['ssh-ed25519', FINGERPRINT]));
}

/** The command's PATH. The test's own logger comes first, so that the test does not write to the machine's log. */
let path = '';
beforeAll(async () => {
  path = await pathWithLogger('exit 1');
});

async function pathWithLogger(script: string): Promise<string> {
  const programs = await mkdtemp(join(folder, 'programs-'));
  await writeFile(join(programs, 'logger'), `#!/bin/sh\n${script}\n`, { mode: 0o755 });
  return `${programs}:${process.env.PATH}`;
}

const runCommand = (...args: string[]): Promise<Run> =>
  new Promise((resolve) => {
    // sshd gives the command little more than a PATH.
    execFile(COMMAND, args, { env: { PATH: path, HOME: '/nonexistent' } }, (error, stdout, stderr) => {
      resolve({ code: error === null ? 0 : Number(error.code), stdout, stderr });
    });
  });

async function answering(listener: RequestListener): Promise<number> {
  const server = createServer(listener).listen(0, '127.0.0.1');
  stopAtEnd(async () => {
    server.closeAllConnections();
    server.close();
  });
  await once(server, 'listening');
  return (server.address() as AddressInfo).port;
}

const answers = (status: number, headers: Record<string, string> = {}): Promise<number> =>
  answering((_, response) => response.writeHead(status, headers).end(LINE));

describe('the AuthorizedKeysCommand', () => {
  it('prints the lines of a 200, and sends type and fingerprint encoded and the token in a header', async () => {
    const requests: unknown[] = [];
    const port = await answering(({ method, url, headers }, response) => {
      requests.push({ method, url, authorization: headers.authorization });
      response.end(LINE);
    });
    expect(await ask(port, 'sk-ssh-ed25519@openssh.com', FINGERPRINT)).toEqual({ code: 0, stdout: LINE, stderr: '' });
    const url = expect.stringMatching(
      /^\/ssh_gateway\/authorized_keys\?type=sk-ssh-ed25519%40openssh.com&fingerprint=SHA256%3Aa%2Bb%2Fc$/i,
    );
    expect(requests).toEqual([{ method: 'GET', url, authorization: `Bearer ${TOKEN}` }]);
  });

  it('reports to syslog the credentials and versions that accepted the key, and does not wait longer than necessary', async () => {
    const log = join(folder, 'log');
    const failing = path;
    path = await pathWithLogger(`for word; do last=$word; done; echo "$last" > ${log}; echo noise; sleep 5`);
    const before = Date.now();
    expect(await ask(await answers(200))).toEqual({ code: 0, stdout: LINE, stderr: '' });
    expect(Date.now() - before).toBeLessThan(3000);
    path = failing;
    const deadline = Date.now() + 3000;
    const logged = () => readFile(log, 'utf8').catch(() => '');
    while ((await logged()) === '' && Date.now() < deadline) await new Promise((resolve) => setTimeout(resolve, 10));
    const options = 'restrict,from="192.0.2.0/24" restrict .';
    expect(await logged()).toBe(`${FINGERPRINT} sshcr_1@3,sshcr_2@1 ${process.pid} ssh-ed25519 ${options}\n`);
  });

  it('prints nothing and exits with 0 if the key is unknown (404)', async () => {
    expect(await ask(await answers(404))).toEqual({ code: 0, stdout: '', stderr: '' });
  });

  it.each([201, 204, 206, 302, 400, 401, 403, 429, 500, 503])('prints nothing and fails on %d', async (status) => {
    const port = await answers(status, status === 302 ? { location: '/elsewhere' } : {});
    expect(await ask(port)).toEqual({ code: 22, stdout: '', stderr: `the service answered HTTP ${status}\n` });
  });

  it('prints nothing of an incomplete answer', async () => {
    const port = await answering((_, response) => {
      response.writeHead(200, { 'content-length': '1000' });
      response.write(LINE, () => response.destroy());
    });
    expect(await ask(port)).toMatchObject({ code: 18, stdout: '' });
  });

  it('prints nothing if no service listens', async () => {
    expect(await ask(await freePort('127.0.0.1'))).toMatchObject({ code: 7, stdout: '' });
  });

  it('gives up on a slow service, and hides the token from other processes meanwhile', async () => {
    let seen: Promise<string[]> | undefined;
    const port = await answering(() => {
      seen = commandLines();
    });
    const before = Date.now();
    const { code, stdout, stderr } = await ask(port);
    expect({ code, stdout }).toEqual({ code: 28, stdout: '' });
    expect(Date.now() - before).toBeLessThan(6000);
    expect(stderr).not.toContain(TOKEN);
    const running = (await seen) ?? [];
    expect(running.filter((line) => line.includes('curl'))).not.toEqual([]);
    expect(running.filter((line) => line.includes(TOKEN))).toEqual([]);
  });

  it('prints nothing without its config, or without its arguments', async () => {
    expect(await runCommand(join(folder, 'missing'), 'ssh-ed25519', FINGERPRINT)).toMatchObject({
      code: 26,
      stdout: '',
    });
    expect(await runCommand('x', 'y')).toMatchObject({ code: 2, stdout: '' });
  });
});

/** Command lines and environments of every process, as far as this user may read them. */
async function commandLines(): Promise<string[]> {
  const processes = (await readdir('/proc')).filter((name) => /^\d+$/.test(name) && name !== String(process.pid));
  const files = processes.flatMap((id) => [`/proc/${id}/cmdline`, `/proc/${id}/environ`]);
  return Promise.all(files.map((file) => readFile(file, 'utf8').catch(() => '')));
}
