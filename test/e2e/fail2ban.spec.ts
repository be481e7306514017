import { execFile } from 'node:child_process';
import { once } from 'node:events';
import { cp, mkdtemp, readFile, rm, writeFile } from 'node:fs/promises';
import { connect } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { beforeAll, describe, expect, it } from '@jest/globals';
import ssh2 from 'ssh2';
import { REPOSITORY, textOf } from '../support/documents.js';
import { eventually } from '../support/eventually.js';
import { freePort } from '../support/free-port.js';
import { GatewayProcess } from '../support/gateway-process.js';
import { stopAtEnd } from '../support/leftovers.js';
import { type KeyPair, newKeyPair, runSsh } from '../support/ssh-client.js';

const run = promisify(execFile);
const FOLDER = 'docs/operating/fail2ban';
const JAIL = `${FOLDER}/jail.d/tunnel-gateway.conf`;
/** An address that no client of these tests has. */
const VICTIM = '203.0.113.9';

let gateway: GatewayProcess;
let port: number;
let folder: string;
let known: KeyPair;
beforeAll(async () => {
  port = await freePort('127.0.0.1');
  gateway = await GatewayProcess.start({ GATEWAY_LISTEN: `[::]:${port}` });
  folder = await mkdtemp(join(tmpdir(), 'tas-fail2ban-'));
  stopAtEnd(() => rm(folder, { recursive: true, force: true }));
  known = await gateway.newCredential('bind:*=*');
});

/** The addresses that the filter finds in these lines, once for each line. */
async function foundIn(lines: readonly string[]): Promise<readonly string[]> {
  const file = join(folder, 'log');
  await writeFile(file, `${lines.join('\n')}\n`);
  const filter = join(REPOSITORY, FOLDER, 'filter.d/tunnel-gateway.conf');
  const { stdout } = await run('fail2ban-regex', ['-o', 'ip', file, filter]);
  return stdout.split('\n').filter((line) => line !== '');
}

/** The lines about the logins while this is done, which ends with so many of them. */
async function linesOf(act: () => Promise<unknown>, count = 1): Promise<readonly string[]> {
  const isLogin = (line: string): boolean => line.includes('"event":"login_');
  const before = gateway.written.filter(isLogin).length;
  await act();
  const since = (): readonly string[] => gateway.written.filter(isLogin).slice(before);
  await eventually(() => expect(since()).toHaveLength(count));
  return since();
}

const sshTo = (host: string, key: KeyPair, ...options: string[]): Promise<unknown> =>
  runSsh(port, key, ['-N', '-o', `HostName=${host}`, ...options]);

/** Logs in with texts that the client chooses and that look like the line of a refused login. */
async function logInForged(key: KeyPair, ident: string): Promise<void> {
  const client = new ssh2.Client().on('error', () => undefined);
  const over = new Promise<void>((resolve) => void client.once('close', () => resolve()));
  client.once('ready', () => client.end());
  const privateKey = await readFile(key.file);
  client.connect({ host: '127.0.0.1', port, username: ident, privateKey, ident: Buffer.from(ident, 'latin1') });
  await over;
}

describe('the filter of fail2ban takes', () => {
  it.each([
    ['127.0.0.1', 'an IPv4 address', []],
    ['::1', 'an IPv6 address', []],
    ['127.0.0.1', 'the address of who has only passwords', ['-o', 'PreferredAuthentications=password']],
  ])('%s, %s, from a refused login', async (host, _, options) => {
    const lines = await linesOf(async () => sshTo(host, await newKeyPair(), ...options));
    expect(await foundIn(lines)).toEqual([host]);
    // As fail2ban makes lines of the entries of the journal.
    expect(await foundIn(lines.map((line) => `gateway-1 tunnel-gateway[4711]: ${line}`))).toEqual([host]);
  });

  it('each of the keys that a client offers', async () => {
    const [first, second] = [await newKeyPair(), await newKeyPair()];
    const lines = await linesOf(() => sshTo('127.0.0.1', first, '-i', second.file), 2);
    expect(await foundIn(lines)).toEqual(['127.0.0.1', '127.0.0.1']);
  });
});

describe('the filter of fail2ban takes nothing', () => {
  it('from an accepted login', async () => {
    const lines = await linesOf(() => runSsh(port, known, []));
    expect(lines[0]).toContain('login_accepted');
    expect(await foundIn(lines)).toEqual([]);
  });

  it('from a client that reads the host key, as ssh-keyscan does', async () => {
    const lines = await linesOf(() => run('ssh-keyscan', ['-t', 'ed25519', '-p', String(port), '127.0.0.1']));
    expect(lines[0]).toContain('no_request');
    expect(await foundIn(lines)).toEqual([]);
  });

  it('from what a client sends, even if it looks like a line of another source', async () => {
    const forged = `"event":"login_refused","source":"${VICTIM}","source_port":1,"reason":"no_key"`;
    const line = `{"level":"warn","pid":1,"hostname":"a",${forged}`;
    const stranger = await newKeyPair();
    const lines = await linesOf(async () => {
      for (const ident of [line, `x\r${line}`, `x", ${forged}, "y":"`]) {
        await logInForged(known, ident);
        await logInForged(stranger, ident);
      }
      // Two lines, of which only the first is an identification.
      const socket = connect(port, '127.0.0.1').on('error', () => undefined);
      socket.end(`SSH-2.0-x\r\n${line}\r\n`);
      await once(socket.resume(), 'close');
    }, 7);
    expect(lines.join('\n')).toContain(VICTIM);
    const found = await foundIn([...lines, ...gateway.written]);
    expect(found.filter((address) => !['127.0.0.1', '::1'].includes(address))).toEqual([]);
    expect(await foundIn(lines.filter((one) => one.includes('login_accepted')))).toEqual([]);
    expect(found.length).toBeGreaterThan(2);
  });
});

describe('the jail of fail2ban', () => {
  it('is accepted by fail2ban with the filter beside it', async () => {
    const config = join(folder, 'config');
    await cp('/etc/fail2ban', config, { recursive: true });
    // Debian's jail for sshd wants a file that not every machine has.
    await rm(join(config, 'jail.d'), { recursive: true });
    await cp(join(REPOSITORY, FOLDER), config, { recursive: true });
    const { stdout } = await run('fail2ban-client', ['-c', config, '-t']);
    expect(stdout).toContain('OK: configuration test is successful');
    expect((await run('fail2ban-client', ['-c', config, '-d'])).stdout).toContain("'tunnel-gateway', 'maxretry', 30");
  });

  it('reads the journal of the unit', () => {
    expect(textOf(`${FOLDER}/filter.d/tunnel-gateway.conf`)).toMatch(
      /^journalmatch = _SYSTEMD_UNIT=tunnel-access-gateway\.service$/m,
    );
    expect(textOf(JAIL)).toMatch(/^backend = systemd$/m);
  });
});
