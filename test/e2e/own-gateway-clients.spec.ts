import { execFile, spawn } from 'node:child_process';
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { beforeAll, describe, expect, it } from '@jest/globals';
import { complementOf, exchange } from '../support/echo-target.js';
import { eventually } from '../support/eventually.js';
import { freePort } from '../support/free-port.js';
import { stopAtEnd } from '../support/leftovers.js';
import { OwnGateway } from '../support/own-gateway.js';

const run = promisify(execFile);
const CLIENTS = new URL('../support/clients', import.meta.url).pathname;
const BYTES = Buffer.from('bytes through a tunnel');

let trial: OwnGateway;
let folder: string;
let goClient: string;
beforeAll(async () => {
  trial = await OwnGateway.start();
  folder = await mkdtemp(join(tmpdir(), 'tas-clients-'));
  stopAtEnd(() => rm(folder, { recursive: true, force: true }));
  goClient = join(folder, 'forward');
  // Debian's packages of libraries for Go are in this folder, so nothing is fetched.
  const go = { GO111MODULE: 'off', GOPATH: '/usr/share/gocode', GOCACHE: join(folder, 'cache'), HOME: folder };
  const env = { PATH: process.env.PATH, ...go };
  await run('go', ['build', '-o', goClient, join(CLIENTS, 'forward.go')], { env });
}, 120_000);

interface Forwarding {
  /** The port of the gateway, the file of the key, what is bound, and the port of the target. */
  readonly port: string;
  readonly key: string;
  readonly address: string;
  readonly listen: string;
  readonly target: string;
}

/** The command of each client that binds `address:listen`. */
const COMMANDS: Readonly<Record<string, (forwarding: Forwarding) => Promise<readonly string[]>>> = {
  OpenSSH: async ({ port, key, address, listen, target }) => [
    ...['ssh', '-N', '-p', port, '-i', key, '-o', 'IdentitiesOnly=yes', '-o', 'IdentityAgent=none'],
    ...['-o', 'StrictHostKeyChecking=no', '-o', `UserKnownHostsFile=${folder}/hosts`, '-o', 'ExitOnForwardFailure=yes'],
    ...['-R', `${address}:${listen}:127.0.0.1:${target}`, 'tunnel@127.0.0.1'],
  ],
  Dropbear: async ({ port, key, address, listen, target }) => {
    await run('dropbearconvert', ['openssh', 'dropbear', key, `${key}.dropbear`]);
    const forward = `${address}:${listen}:127.0.0.1:${target}`;
    return ['dbclient', '-y', '-y', '-p', port, '-i', `${key}.dropbear`, '-N', '-R', forward, 'tunnel@127.0.0.1'];
  },
  PuTTY: async ({ port, key, address, listen, target }) => {
    await run('puttygen', [key, '-O', 'private', '-o', `${key}.ppk`]);
    const { hostKeyFingerprint } = trial.gateway;
    const forward = `${address}:${listen}:127.0.0.1:${target}`;
    const options = ['-batch', '-ssh', '-P', port, '-i', `${key}.ppk`, '-hostkey', hostKeyFingerprint, '-N'];
    return ['plink', ...options, '-R', forward, 'tunnel@127.0.0.1'];
  },
  // Not the Python of a version manager, which has no packages of Debian.
  paramiko: async ({ port, key, address, listen, target }) => [
    ...['/usr/bin/python3', join(CLIENTS, 'forward.py'), port, key, address, listen, target],
  ],
  'the client of Go': async ({ port, key, address, listen, target }) => [
    ...[goClient, port, key, `${address}:${listen}`, `127.0.0.1:${target}`],
  ],
};

/** Starts the command in a home of its own, and returns what it has printed. */
function startClient([program = '', ...args]: readonly string[]): () => string {
  const env = { PATH: process.env.PATH, HOME: folder };
  const child = spawn(program, args, { env, stdio: ['ignore', 'pipe', 'pipe'] });
  let output = '';
  for (const stream of [child.stdout, child.stderr]) stream.on('data', (data) => (output += data));
  stopAtEnd(async () => void child.kill('SIGKILL'));
  return () => output;
}

async function forwardingOf(address: string, listen: number): Promise<Forwarding> {
  const { file } = await trial.newCredential();
  const [port, target] = [trial.port, trial.target.port].map(String) as [string, string];
  return { port, key: file, address, listen: String(listen), target };
}

describe.each(Object.entries(COMMANDS))('%s', (_, commandOf) => {
  it('brings a tunnel up, with bytes both ways', async () => {
    const port = await freePort('127.0.0.1');
    const output = startClient(await commandOf(await forwardingOf('127.0.0.1', port)));
    const answer = () => exchange('127.0.0.1', port, BYTES).catch((error) => `${error}: ${output()}`);
    await eventually(async () => expect(await answer()).toEqual(complementOf(BYTES)), 20_000);
  });
});

describe.each(['PuTTY', 'paramiko', 'Dropbear', 'OpenSSH'])('%s', (client) => {
  it('binds a label at a port of its choice', async () => {
    const label = `client=${client}`;
    startClient((await COMMANDS[client]?.(await forwardingOf(label, 1))) ?? []);
    const lines = () => trial.log.filter((line) => 'event' in line && line.event === 'tunnel_opened');
    await eventually(() => expect(lines()).toContainEqual(expect.objectContaining({ target: `${label}:1` })), 20_000);
  });
});
