import { setTimeout as sleep } from 'node:timers/promises';
import { beforeAll, beforeEach, describe, expect, it } from '@jest/globals';
import { blocksOf } from '../support/documents.js';
import { until } from '../support/eventually.js';
import { expectBytesBothWays, freePortOf, GatewayTrial } from '../support/gateway-trial.js';
import { askMaster, type KeyPair, type Login, logIn, newKeyPair } from '../support/ssh-client.js';
import type { RunningCommands } from '../support/sshd-gateway.js';

/** Stock sshd, a journal, and the reaper as docs/sshd-gateway.md starts it, at a checkout that is elsewhere. */
let trial: GatewayTrial;
let reaper: RunningCommands;
beforeAll(async () => {
  trial = await GatewayTrial.start({ hasJournal: true });
  await startReaper();
});

const COMMAND = blocksOf('sshd-reaper')
  .map(({ text }) => text)
  .join('\n')
  .replace(/^cd .*\n/, '')
  .trim();

async function startReaper(): Promise<void> {
  reaper = await trial.gateway.run(`exec ${COMMAND}`);
  await until(() => reaper.output().includes('following changes'), 45_000);
}

/** A second, with the patience of a busy machine. */
const CUT_MS = 3_000;

interface Tunnel extends Login {
  readonly host: string;
  readonly port: number;
}

async function open(key: KeyPair, host = 'app.example.test'): Promise<Tunnel> {
  const port = await freePortOf(host);
  const login = await trial.bind(key, `${host}:${port}`);
  expect(login.isOpen ? 'open' : login.output()).toBe('open');
  await expectBytesBothWays(host, port);
  return { ...login, host, port };
}

const isCut = ({ output }: Login): boolean =>
  /Connection to \S+ closed|closed by remote host|Broken pipe/.test(output());

async function expectCut(tunnel: Tunnel): Promise<void> {
  const from = Date.now();
  await until(() => isCut(tunnel), CUT_MS);
  // Read by the developer who wants the figure.
  if (process.env.SHOW_LATENCY !== undefined) console.log(`cut after ${Date.now() - from} ms`);
  await expect(expectBytesBothWays(tunnel.host, tunnel.port)).rejects.toThrow('ECONNREFUSED');
}

/** One of another key, which no test changes. */
let bystander: Tunnel;
beforeAll(async () => {
  bystander = await open(await trial.newCredential('bind:other.test'), 'other.test');
});
async function expectBystander(): Promise<void> {
  expect(isCut(bystander)).toBe(false);
  await expectBytesBothWays(bystander.host, bystander.port);
}

interface Held {
  readonly key: KeyPair;
  readonly id: string;
  readonly ownerId: string;
  readonly tunnel: Tunnel;
}
let held: Held;
beforeEach(async () => {
  const email = `owner-${Math.random()}@example.test`;
  const { body: owner } = await trial.admin.post('/users', { email, role: 'member' });
  const key = await newKeyPair();
  const acl = ['bind:app.example.test', 'bind:a.wild.example.test'];
  const id = await trial.createCredential(key, acl, { owner_id: owner.id });
  held = { key, id, ownerId: owner.id, tunnel: await open(key) };
});

const inOneSecond = () => new Date(Date.now() + 1_000).toISOString();

const restrict = (id: string, ...cidrs: string[]) =>
  trial.admin.put(`/ssh_credentials/${id}/source_restriction`, { cidrs });

const NARROWING: readonly (readonly [string, (of: Held) => Promise<{ readonly status: number }>])[] = [
  ['DELETE of its credential', ({ id }) => trial.admin.delete(`/ssh_credentials/${id}`)],
  ['a PATCH to narrower rules', ({ id }) => trial.admin.patch(`/ssh_credentials/${id}`, { acl: ['bind:other.test'] })],
  ['deactivation of the owner', ({ ownerId }) => trial.admin.patch(`/users/${ownerId}`, { active: false })],
  ['other networks', ({ id }) => restrict(id, '198.51.100.0/24')],
  ['expiry', ({ id }) => trial.admin.put(`/ssh_credentials/${id}/expiry`, { expires_at: inOneSecond() })],
];

describe('a live tunnel', () => {
  it.each(NARROWING)('is cut by %s, and that of another key is not', async (what, act) => {
    expect((await act(held)).status).toBeLessThan(300);
    if (what === 'expiry') await sleep(1_000);
    await expectCut(held.tunnel);
    await expectBystander();
  });

  it('is not cut by another description, wider rules or networks with its address, and then by narrower rules', async () => {
    const path = `/ssh_credentials/${held.id}`;
    await trial.admin.patch(path, { description: 'another' });
    await trial.admin.patch(path, { acl: ['bind:*.example.test'] });
    await restrict(held.id, '127.0.0.0/8', '198.51.100.0/24');
    await sleep(1_000);
    expect(isCut(held.tunnel)).toBe(false);
    await expectBytesBothWays(held.tunnel.host, held.tunnel.port);
    await trial.admin.patch(path, { acl: ['bind:*.wild.example.test'] });
    await expectCut(held.tunnel);
  });

  it('of a key with 120 rules is cut when one is gone', async () => {
    const acl = Array.from({ length: 119 }, (_, n) => `bind:name-${n}.of-a-key-with-many-rules.example.test`);
    const key = await newKeyPair();
    const id = await trial.createCredential(key, ['bind:app.example.test', ...acl]);
    const tunnel = await open(key);
    await trial.admin.patch(`/ssh_credentials/${id}`, { acl: ['bind:app.example.test', ...acl.slice(1)] });
    await expectCut(tunnel);
  });

  it('is cut if its key lost the right after sshd had asked, and before the log told of the login', async () => {
    const [pid = ''] = reaper.output().split('\n');
    const signalReadersOfLog = async (signal: string): Promise<void> => {
      const sent = await trial.gateway.run(`kill -${signal} $(cat /proc/${pid}/task/*/children)`);
      expect(await sent.ended).toBe(0);
    };
    await signalReadersOfLog('STOP');
    const key = await trial.newCredential('bind:app.example.test');
    const tunnel = await open(key);
    await trial.admin.delete(`/ssh_credentials/${key.id}`);
    await sleep(500);
    expect(isCut(tunnel)).toBe(false);
    await signalReadersOfLog('CONT');
    await expectCut(tunnel);
  });

  it('is cut when the reaper meets the service again, if the change was made while they had no connection', async () => {
    await trial.stopService();
    await trial.changeWhileAway((admin) => admin.delete(`/ssh_credentials/${held.id}`));
    expect(isCut(held.tunnel)).toBe(false);
    await trial.startServiceAgain();
    await expectCut(held.tunnel);
    await expectBystander();
  });

  it('that was there before the reaper is cut too, by what changed while there was none and after it', async () => {
    const other = await open(await newKeyPairWithCredential());
    expect(await reaper.end()).toBe(0);
    await trial.admin.delete(`/ssh_credentials/${held.id}`);
    await sleep(500);
    expect(isCut(held.tunnel)).toBe(false);
    await startReaper();
    await expectCut(held.tunnel);
    await trial.admin.delete(`/ssh_credentials/${lastCredential}`);
    await expectCut(other);
    await expectBystander();
  });
});

let lastCredential = '';
async function newKeyPairWithCredential(): Promise<KeyPair> {
  const key = await trial.newCredential('bind:app.example.test');
  lastCredential = key.id;
  return key;
}

it('an address that another account reserves is taken from its session, and others stay until they bind more', async () => {
  const key = await trial.newCredential();
  const taken = await open(key);
  const [master, to] = [`${key.file}.master`, `127.0.0.1:${trial.target.port}`];
  const port = await freePortOf('other.test');
  const kept = await logIn(trial.gateway.port, key, '-M', '-S', master, '-R', `other.test:${port}:${to}`);
  for (const bind of [`127.0.1.2 port ${taken.port}`, `127.0.1.7 port ${port}`])
    await trial.gateway.logged(`Local forwarding listening on ${bind}.`);
  // The reaper reads the same journal.
  await sleep(500);
  const other = await trial.addAccount();
  const addr = `${taken.host}:${taken.port}`;
  expect(await other.post('/reserved_addrs', { addr })).toMatchObject({ status: 201 });
  await expectCut(taken);
  await sleep(300);
  for (const { output } of [kept, held.tunnel]) expect(output()).not.toContain('closed by remote host');
  await expectBytesBothWays('other.test', port);
  await askMaster(master, '-O', 'forward', '-R', `${addr}:${to}`);
  await until(() => isCut(kept), CUT_MS);
  await expectBystander();
});
