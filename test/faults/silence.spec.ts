import { setTimeout as sleep } from 'node:timers/promises';
import { beforeAll, describe, expect, it } from '@jest/globals';
import pg from 'pg';
import { FaultyProxy } from '../support/faulty-proxy.js';
import { type Instance, startInstance } from '../support/instance.js';
import { newPublicKey } from '../support/keys.js';
import { PostgresServer } from '../support/postgres-server.js';

/** A host that swallows every packet without an RST, as after a power cut or a partition of the network. */
let postgres: PostgresServer;
/** The guarantee of 3 s, and the time that a busy machine takes for HTTP. */
const ANSWERED_WITHIN_MS = 3_500;
/** Short enough for a change to be tried again. */
const SILENT_MS = 1_000;

beforeAll(async () => {
  postgres = await PostgresServer.primary();
  await postgres.query('create database service');
});

/** Half of the connections for audit reads. */
const RUNNING_OF_ONE_ACCOUNT = 2;
const HELD_READS = `select from pg_stat_activity where query like '%from bind_decisions%' and wait_event_type = 'Lock'`;

/** Meanwhile every list of decisions waits in the database. */
async function withHeldDecisions<T>(work: () => Promise<T>): Promise<T> {
  const holder = new pg.Client(postgres.url('service'));
  await holder.connect();
  await holder.query('begin; lock table bind_decisions in access exclusive mode');
  return work().finally(() => holder.end());
}

async function until(condition: () => Promise<boolean>): Promise<void> {
  while (!(await condition())) await sleep(25);
}

const through = ({ host }: FaultyProxy): string => `postgres://postgres@${host}/service`;

async function timed<T>(work: () => Promise<T>): Promise<{ answer: T; ms: number }> {
  const from = performance.now();
  return { answer: await work(), ms: performance.now() - from };
}

/** One of every kind of request that only reads. */
function readsOf({ admin, gateway }: Instance, publicKey: string) {
  const question = { public_key: publicKey, target: { domain: 'app.example.com' } };
  return [
    () => admin.get('/ssh_credentials'),
    () => admin.get('/events?limit=1'),
    () => gateway.post('/ssh_gateway/authorize', question),
  ];
}

describe('while a host is silent', () => {
  it('a stop does not wait for it', async () => {
    const only = await FaultyProxy.to(postgres.port);
    const instance = await startInstance(through(only));
    expect((await instance.admin.get('/ssh_credentials')).status).toBe(200);
    only.fallSilent();
    await instance.stop();
  });

  it('audit reads, those that run and those that wait for a turn, end with 503 at their deadline', async () => {
    const only = await FaultyProxy.to(postgres.port);
    const instance = await startInstance(through(only), { auditReadTimeoutMs: 2_500 });
    await withHeldDecisions(async () => {
      const reads = Array.from({ length: 6 }, () => instance.admin.get('/bind_decisions'));
      await until(async () => (await postgres.query(HELD_READS)).length === RUNNING_OF_ONE_ACCOUNT);
      only.fallSilent();
      const answers = await Promise.all(reads.map((read) => timed(() => read)));
      expect(answers.map(({ answer }) => answer.status)).toEqual([503, 503, 503, 503, 503, 503]);
      for (const { ms } of answers) expect(ms).toBeLessThan(ANSWERED_WITHIN_MS);
    });
    // The server still holds the transactions, with their locks.
    only.cut();
    await instance.stop();
  });

  it('an audit read waits longer than 3 s for a host that answers others', async () => {
    const instance = await startInstance(postgres.url('service'));
    const read = await withHeldDecisions(async () => {
      const read = instance.admin.get('/bind_decisions');
      await sleep(5_000);
      return { answer: read };
    });
    expect((await read.answer).status).toBe(200);
    await instance.stop();
  });

  it('a change that it may hold is written once, as soon as the host is reached again', async () => {
    const proxy = await FaultyProxy.to(postgres.port);
    const instance = await startInstance(through(proxy));
    const creates = Array.from({ length: 20 }, (_, n) =>
      instance.admin.post('/ssh_credentials', { public_key: newPublicKey(), description: `held ${n}` }),
    );
    await Promise.race(creates);
    proxy.fallSilent();
    await sleep(SILENT_MS);
    proxy.speak();
    expect(new Set((await Promise.all(creates)).map(({ status }) => status))).toEqual(new Set([201]));
    const { body } = await instance.admin.get('/ssh_credentials');
    const held = body.ssh_credentials.filter((one: { description: string }) => one.description.startsWith('held'));
    expect(held).toHaveLength(20);
    await instance.stop();
  });

  it('everything is answered with 503 and Retry-After at its deadline, and works again afterwards', async () => {
    const only = await FaultyProxy.to(postgres.port);
    const instance = await startInstance(through(only), { writeDeadlineMs: 2_000 });
    const public_key = newPublicKey();
    expect((await instance.admin.post('/ssh_credentials', { public_key })).status).toBe(201);
    only.fallSilent();
    const change = () => instance.admin.post('/ssh_credentials', { public_key: newPublicKey() });
    for (let round = 0; round < 2; round += 1) {
      const answers = await Promise.all([...readsOf(instance, public_key), change].map(timed));
      expect(answers.map(({ answer }) => answer.status)).toEqual([503, 503, 503, 503]);
      expect(answers.map(({ answer }) => answer.headers.get('retry-after'))).toEqual(['1', '1', '1', '1']);
      for (const { ms } of answers) expect(ms).toBeLessThan(ANSWERED_WITHIN_MS);
    }
    only.speak();
    expect((await change()).status).toBe(201);
    await instance.stop();
  });
});
