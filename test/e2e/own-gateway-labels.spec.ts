import { once } from 'node:events';
import { mkdtemp, rm } from 'node:fs/promises';
import { connect } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { beforeAll, describe, expect, it } from '@jest/globals';
import { tcpServer } from '../support/echo-target.js';
import { edgeTo } from '../support/edges.js';
import { eventually } from '../support/eventually.js';
import { stopAtEnd } from '../support/leftovers.js';
import { OwnGateway } from '../support/own-gateway.js';
import { askMaster, type KeyPair, logIn, openSession, runSsh } from '../support/ssh-client.js';
import { TunnelClient } from '../support/tunnel-client.js';

let trial: OwnGateway;
let key: KeyPair;
let folder: string;
beforeAll(async () => {
  trial = await OwnGateway.start();
  key = await trial.newCredential('bind:*=*', 'bind:app.other.test');
  folder = await mkdtemp(join(tmpdir(), 'tas-master-'));
  stopAtEnd(() => rm(folder, { recursive: true, force: true }));
});

const named = (name: string): Promise<number> => tcpServer((socket) => socket.end(name));
const edgeFor = async (labels: Readonly<Record<string, string>>): Promise<number> =>
  (await edgeTo(trial.service.admin, labels)).port;

async function nameAt(port: number): Promise<string> {
  const socket = connect(port, '127.0.0.1');
  let name = '';
  socket
    .on('error', () => undefined)
    .on('data', (data) => {
      name += data;
    });
  await once(socket, 'close');
  return name;
}

/** Of four connections, each name once. */
const namesAt = async (port: number): Promise<string> =>
  [...new Set(await Promise.all([1, 2, 3, 4].map(() => nameAt(port))))].sort().join('');

/** What a session of the master shows up to this text. Then it is ended, and the login goes on. */
async function shownUpTo(socket: string, text: string): Promise<string> {
  const { output, close } = openSession(socket);
  await eventually(() => expect(output()).toContain(text));
  await close();
  return output();
}

const master = (name: string): string => join(folder, name);

describe('a label', () => {
  it('is bound at any port, several times in one connection, and ends by its port alone', async () => {
    const edge = await edgeFor({ any: 'port' });
    const binds = [await named('a'), await named('b')].map((to, n) => `any=port:${n + 1}:127.0.0.1:${to}`);
    const socket = master('ports');
    const login = await logIn(trial.port, key, '-M', '-S', socket, ...binds.flatMap((bind) => ['-R', bind]));
    expect(login.isOpen ? 'open' : login.output()).toBe('open');
    await eventually(async () => expect(await namesAt(edge)).toBe('ab'));
    await askMaster(socket, '-O', 'cancel', '-R', binds[0] ?? '');
    await eventually(async () => expect(await namesAt(edge)).toBe('b'));
    await login.close();
  });

  it('that the client has bound at this port is refused with a sentence', async () => {
    const client = await TunnelClient.logIn(trial.port, key.file, trial.target.port);
    await client.bind('any=twice', 7);
    await expect(client.bind('any=twice', 7)).rejects.toThrow();
    const { message } = trial.log.at(-1) ?? {};
    expect(message).toBe('refused a bind: the client has already bound it; ask for another port');
    client.end();
  });
});

describe('a bind of several labels', () => {
  it('is a tunnel of the groups of all, some and one of them, and of no other', async () => {
    const edges = await Promise.all([
      edgeFor({ app: 'web', team: 'several' }),
      edgeFor({ team: 'several' }),
      edgeFor({ team: 'several', app: 'db' }),
    ]);
    const to = await named('several');
    const login = await logIn(trial.port, key, '-R', `team=several,app=web,zone=1:0:127.0.0.1:${to}`);
    expect(login.isOpen ? 'open' : login.output()).toBe('open');
    const names = () => Promise.all(edges.map(nameAt));
    await eventually(async () => expect(await names()).toEqual(['several', 'several', '']));
    await login.close();
  });

  it('is permitted only if each of them is, also by several credentials, and ends when one loses its right', async () => {
    const both = await trial.newCredential('bind:team=one');
    const bind = ['-R', 'team=one,app=two:0:127.0.0.1:1'];
    expect((await runSsh(trial.port, both, bind)).stderr).toContain('it needs the rule bind:app=two');
    const second = await trial.createCredential(both, ['bind:app=two']);
    const socket = master('several');
    const login = await logIn(trial.port, both, '-M', '-S', socket, ...bind);
    expect(login.isOpen ? 'open' : login.output()).toBe('open');
    const session = openSession(socket);
    await eventually(() => expect(session.output()).toContain('bound team=one,app=two'));
    await trial.service.admin.delete(`/ssh_credentials/${second}`);
    const closed = 'closed team=one,app=two: no rule of the credential permits it; it needs the rule bind:app=two';
    await eventually(() => expect(session.output()).toContain(closed));
    await eventually(() => expect(trial.gateway.tunnels.size).toBe(0));
    await login.close();
  });

  it('that is malformed is refused with a sentence', async () => {
    const { stderr } = await runSsh(trial.port, key, ['-R', 'team=a,team=b:0:127.0.0.1:1']);
    expect(stderr).toContain("'team=a,team=b' cannot be bound: it has the label team twice");
  });
});

describe('a session shows the state of the binds:', () => {
  it('one that was cancelled is closed, and never bound', async () => {
    const socket = master('state');
    const binds = ['any=kept:0', 'any=gone:0', 'any=gone:2', 'app.other.test:0'].map((bind) => `${bind}:127.0.0.1:1`);
    const login = await logIn(trial.port, key, '-M', '-S', socket, ...binds.flatMap((bind) => ['-R', bind]));
    for (const bind of binds.slice(1)) await askMaster(socket, '-O', 'cancel', '-R', bind);
    const shown = await shownUpTo(socket, 'closed app.other.test');
    expect(shown.match(/(bound|closed) .*/g)?.map((line) => line.trim())).toEqual([
      'bound any=kept',
      'closed any=gone: the client cancelled it',
      'closed any=gone:2: the client cancelled it',
      'closed app.other.test: the client cancelled it',
    ]);
    await login.close();
  });

  it('a session without a bind says so, and a later one with a bind does not', async () => {
    const socket = master('useless');
    const login = await logIn(trial.port, key, '-M', '-S', socket);
    expect(await askMaster(socket, '-tt')).toContain('This gateway runs no programs');
    await askMaster(socket, '-O', 'forward', '-R', 'any=later:0:127.0.0.1:1');
    const shown = await shownUpTo(socket, 'bound any=later');
    expect(shown).not.toContain('This gateway runs no programs');
    await login.close();
  });
});
