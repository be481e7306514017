import { setTimeout as sleep } from 'node:timers/promises';
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, it } from '@jest/globals';
import type { Config } from '../../src/config.js';
import { takeLines } from '../support/error-lines.js';
import { FaultyProxy } from '../support/faulty-proxy.js';
import { type Instance, startInstance } from '../support/instance.js';
import { newPublicKey } from '../support/keys.js';
import { METRICS_TOKEN, scrape, seriesValue } from '../support/metrics.js';
import { PostgresServer } from '../support/postgres-server.js';
import { spawnCli } from '../support/process.js';

/** A GET with Min-Log-Position shows the log up to there, whoever answers it and whatever the replica does. */
const STATEMENTS = 'shared_preload_libraries=pg_stat_statements';

let primary: PostgresServer;
let standby: PostgresServer;
let service: Instance;
let log: ReturnType<typeof takeLines>;

const urlOf = (hosts: readonly string[], database = 'service'): string =>
  `postgres://postgres:s3cret@${hosts.join(',')}/${database}`;

const start = (replicaDatabaseUrl: string, settings: Partial<Config> = {}, url = urlOf([primary.host])) =>
  startInstance(url, { replicaDatabaseUrl, metricsToken: METRICS_TOKEN, logLevel: 'warn', ...settings });

beforeAll(async () => {
  primary = await PostgresServer.primary(STATEMENTS);
  await primary.query('create database service');
  await primary.query('create extension pg_stat_statements', 'service');
  standby = await primary.addStandby('replica', STATEMENTS);
  service = await start(urlOf([standby.host]));
});
afterAll(() => service.stop());

beforeEach(() => {
  log = takeLines();
});
afterEach(() => void log.end());

/** What the operator was told about the replica. */
const told = (): string[] =>
  log
    .lines()
    .map(({ message }) => message)
    .filter((message) => message.includes('REPLICA_DATABASE_URL'));

interface Change {
  readonly id: string;
  readonly public_key: string;
  /** The header of a read that must show this change. */
  readonly after: Record<string, string>;
}

const afterPosition = (position: string | number | null) => ({ 'min-log-position': String(position) });

async function upload({ admin }: Instance): Promise<Change> {
  const public_key = newPublicKey();
  const { status, body, headers } = await admin.post('/ssh_credentials', { public_key, acl: ['bind:a.example'] });
  expect(status).toBe(201);
  return { id: body.id, public_key, after: afterPosition(headers.get('log-position')) };
}

/** The same, once the replica has it. */
async function uploadReplayed(instance: Instance): Promise<Change> {
  const change = await upload(instance);
  await replayed();
  return change;
}

async function replayed(): Promise<void> {
  const [{ lsn }] = await primary.query('select pg_current_wal_lsn() as lsn');
  const isThere = async () =>
    (await standby.query(`select pg_last_wal_replay_lsn() >= '${lsn}' as yes`))[0].yes as boolean;
  while (!(await isThere())) await new Promise(setImmediate);
}

/** How many reads the replica and the primary have answered while `work` ran. */
async function answersOf<T>(instance: Instance, work: () => Promise<T>): Promise<{ replica: number; primary: number }> {
  const count = async () => {
    const text = await scrape(instance.url);
    const of = (server: string) => seriesValue(text, `tunnel_access_positioned_reads_total{server="${server}"}`);
    return { replica: of('replica'), primary: of('primary') };
  };
  const before = await count();
  await work();
  const after = await count();
  return { replica: after.replica - before.replica, primary: after.primary - before.primary };
}

const BY_PRIMARY = { replica: 0, primary: 1 };

const read = async ({ admin }: Instance, { id, after }: Pick<Change, 'id' | 'after'>, status = 200): Promise<void> => {
  expect((await admin.get(`/ssh_credentials/${id}`, after)).status).toBe(status);
};

async function stateOf({ url }: Instance): Promise<string> {
  const answer = await fetch(`${url}/readyz`);
  expect(answer.status).toBe(200);
  return ((await answer.json()) as { replica: string }).replica;
}

/** One read in each second tries again what has failed. On a busy machine an answer of the replica can come too late. */
async function untilReplicaAnswers(instance: Instance, work: () => Promise<unknown>, what = ''): Promise<void> {
  const deadline = Date.now() + 15_000;
  while ((await answersOf(instance, work)).replica === 0) {
    if (Date.now() > deadline) throw new Error(`the replica does not answer ${what}: ${told().join('; ')}`);
    await sleep(20);
  }
}

const AUTHORIZE = { target: { domain: 'a.example' } };

describe('a replica', () => {
  it('answers GETs with Min-Log-Position of an entity, a part of it and a page as the primary does, and no other request', async () => {
    const { admin, gateway } = service;
    const { id, public_key, after } = await upload(service);
    await admin.put(`/ssh_credentials/${id}/expiry`, { expires_at: '2040-01-01T00:00:00Z' });
    const { body: user } = await admin.post('/users', { email: 'reader@example.test', role: 'member' });
    const member = admin.as((await admin.post('/api_keys', { owner_id: user.id })).body.token);
    const newest = afterPosition((await upload(service)).after['min-log-position'] ?? '');
    await replayed();

    const paths = [
      `/ssh_credentials/${id}`,
      `/ssh_credentials/${id}/expiry`,
      '/ssh_credentials?limit=1',
      `/ssh_credentials?owner_id=${(await admin.get(`/ssh_credentials/${id}`)).body.owner_id}`,
      '/edges/tcp',
      '/api_keys',
      `/users/${user.id}`,
    ];
    await standby.query('select pg_stat_statements_reset()', 'service').catch(() => undefined);
    // Of API keys a member sees its own.
    for (const [caller, ofCaller] of [
      [admin, paths],
      [member, ['/api_keys', `/ssh_credentials/${id}`]],
    ] as const) {
      for (const path of ofCaller) {
        const expected = await caller.get(path);
        await untilReplicaAnswers(
          service,
          async () => {
            const { status, body } = await caller.get(path, newest);
            expect([path, status]).toEqual([path, expected.status]);
            if (status === 200) expect(body).toEqual(expected.body);
          },
          path,
        );
      }
    }
    const others = await answersOf(service, async () => {
      await admin.get(`/ssh_credentials/${id}`);
      await admin.get(`/ssh_credentials/${id}?as_of=${after['min-log-position']}`, newest);
      await admin.get(`/ssh_credentials/${id}/events`, newest);
      await admin.get('/events', newest);
      await admin.patch(`/ssh_credentials/${id}`, { description: 'changed' }, newest);
      await gateway.post('/ssh_gateway/authorize', { public_key, ...AUTHORIZE }, newest);
    });
    expect(others).toEqual({ replica: 0, primary: 0 });
    const statements = (await standby.query('select query from pg_stat_statements', 'service')).map((row) => row.query);
    const ofService = statements.filter((query) => /events|api_keys|ssh_credentials|principals/.test(query));
    expect(ofService.length).toBeGreaterThan(0);
    // Each carries the head of the log; what authenticates, decides or follows is not among them.
    expect(ofService.filter((query) => !query.includes('log_heads'))).toEqual([]);
    expect(ofService.filter((query) => /token_hash =|from events|bind_decisions/.test(query))).toEqual([]);
    // A trouble of the start, on a busy machine, is over when it has not come back for ten seconds.
    while ((await stateOf(service)) !== 'used') await sleep(200);
  });

  it('that lags never answers with less than was asked for: the primary does, and a revoked key is refused at once', async () => {
    const { admin } = service;
    const old = await uploadReplayed(service);
    const { body: key } = await admin.post('/api_keys', {});
    await standby.query('select pg_wal_replay_pause()');
    const fresh = await upload(service);
    expect(await answersOf(service, () => read(service, fresh))).toEqual(BY_PRIMARY);
    const list = await admin.get('/ssh_credentials?limit=1', fresh.after);
    expect(list.body.ssh_credentials[0].id).toBe(fresh.id);
    expect(await stateOf(service)).toBe('behind');
    expect(told()).toEqual([expect.stringMatching(/ms behind; see pg_stat_replication .* Until then the primary/)]);
    // What it has, it answers all the same.
    await untilReplicaAnswers(service, () => read(service, old));
    const revoked = admin.as(key.token);
    expect((await revoked.get(`/ssh_credentials/${old.id}`, old.after)).status).toBe(200);
    expect((await admin.delete(`/api_keys/${key.id}`)).status).toBe(204);
    expect((await revoked.get(`/ssh_credentials/${old.id}`, old.after)).status).toBe(401);
    await standby.query('select pg_wal_replay_resume()');
    await replayed();
    await untilReplicaAnswers(service, () => read(service, fresh));
  });

  it('is waited for a moment: a read right after its change shows it', async () => {
    for (let n = 0; n < 20; n += 1) await read(service, await upload(service));
  });

  it('is not blamed for a position that the log does not have, which is refused', async () => {
    const { id } = await uploadReplayed(service);
    for (const path of [`/ssh_credentials/${id}`, '/ssh_credentials']) {
      const { status, body } = await service.admin.get(path, afterPosition(1e9));
      expect([status, body.error_code]).toEqual([400, 'ERR_TAS_400']);
      expect(body.msg).toMatch(/^Min-Log-Position 1000000000 is in the future: the log ends at position \d+\./);
    }
    expect(told()).toEqual([]);
  });

  it('that cancels queries for its replay makes no request fail', async () => {
    const { admin } = service;
    await standby.set({ max_standby_streaming_delay: '0', hot_standby_feedback: 'off' });
    const { after } = await uploadReplayed(service);
    const cancelled = async () =>
      (
        await standby.query(
          `select confl_lock + confl_snapshot as n from pg_stat_database_conflicts where datname = 'service'`,
        )
      )[0].n;
    const deadline = Date.now() + 30_000;
    const lock = 'begin; lock table ssh_credentials in access exclusive mode; commit;';
    while (Number(await cancelled()) === 0 && Date.now() < deadline) {
      const reads = Array.from({ length: 40 }, () => admin.get('/ssh_credentials', after));
      await primary.query(lock.repeat(50), 'service');
      expect((await Promise.all(reads)).map(({ status }) => status)).toEqual(reads.map(() => 200));
    }
    expect(Number(await cancelled())).toBeGreaterThan(0);
  }, 60_000);

  it('that is killed costs no request its answer, is told of once, and is used again when it is back', async () => {
    const instance = await start(urlOf([standby.host]));
    const change = await uploadReplayed(instance);
    await untilReplicaAnswers(instance, () => read(instance, change));
    await standby.kill();
    for (let n = 0; n < 5; n += 1) expect(await answersOf(instance, () => read(instance, change))).toEqual(BY_PRIMARY);
    expect(await stateOf(instance)).toBe('away');
    await read(instance, await upload(instance));
    const lines = told();
    expect(lines).toEqual([
      expect.stringMatching(/cannot be used: .*(; .* in REPLICA_DATABASE_URL)?\. Until then the primary/),
    ]);
    expect(lines.join()).not.toContain('s3cret');
    await standby.start(STATEMENTS);
    await untilReplicaAnswers(instance, () => read(instance, change));
    await instance.stop();
  });

  it('that falls silent delays no answer beyond 3 s, nor the ones that follow', async () => {
    const proxy = await FaultyProxy.to(standby.port);
    const instance = await start(urlOf([proxy.host]));
    const change = await uploadReplayed(instance);
    await untilReplicaAnswers(instance, () => read(instance, change));
    proxy.fallSilent();
    for (let n = 0; n < 3; n += 1) {
      const sentAt = performance.now();
      expect(await answersOf(instance, () => read(instance, change))).toEqual(BY_PRIMARY);
      expect(performance.now() - sentAt).toBeLessThan(3_000);
    }
    proxy.speak();
    await untilReplicaAnswers(instance, () => read(instance, change));
    await instance.stop();
  });
});

describe('a server that is no replica of this log', () => {
  it.each([
    [
      'another database',
      () => urlOf([standby.host], 'postgres'),
      /has another database than the primary; let REPLICA_DATABASE_URL/,
    ],
    ['the primary', () => urlOf([primary.host]), /the server is no standby;.* name a standby in REPLICA_DATABASE_URL/],
    ['no server', () => urlOf(['127.0.0.1:1']), /ECONNREFUSED .*no server listens there.* in REPLICA_DATABASE_URL/],
  ])('%s: the start says the way out, and the primary answers', async (_, url, line) => {
    const instance = await start(url());
    const change = await upload(instance);
    for (let n = 0; n < 3; n += 1) expect(await answersOf(instance, () => read(instance, change))).toEqual(BY_PRIMARY);
    expect(['away', 'foreign']).toContain(await stateOf(instance));
    // On a busy machine the first connection can come too late, which is told too.
    expect(told()).toEqual([...new Set(told())]);
    expect(told().join()).toMatch(line);
    await instance.stop();
    const { code, stdout } = await spawnCli(
      { PORT: '0', DATABASE_URL: urlOf([primary.host]), REPLICA_DATABASE_URL: url() },
      'doctor',
    );
    expect([code, stdout]).toEqual([0, expect.stringMatching(/^warning +replica .*until then the primary answers/m)]);
    expect(stdout).not.toContain('s3cret');
  });

  it('a copy of a primary that was replaced has changes that the log lost, and shows none of them', async () => {
    // It stays at the old primary, as a standby beyond the network would.
    const heir = await primary.addStandby('heir');
    const both = urlOf([primary.host, heir.host]);
    const instance = await start(urlOf([standby.host, heir.host]), {}, both);
    await heir.kill();
    const lost = await upload(instance);
    await replayed();
    await primary.kill();
    await heir.start();
    await heir.promote();
    const written = await upload(instance);
    expect(written.after).toEqual(lost.after);
    expect(
      (await standby.query(`select count(*)::int as n from ssh_credentials where id = '${lost.id}'`, 'service'))[0].n,
    ).toBe(1);
    for (let n = 0; n < 3; n += 1) {
      await read(instance, written);
      await read(instance, { ...lost, after: written.after }, 404);
    }
    expect(told().join()).toMatch(/has another timeline than the primary/);
    await instance.stop();
    primary = heir;
  });

  it('a replica that was promoted is one no longer, also on the connections that it has', async () => {
    const next = await primary.addStandby('next');
    const instance = await start(urlOf([next.host]), {}, urlOf([primary.host]));
    const change = await upload(instance);
    await untilReplicaAnswers(instance, () => read(instance, change));
    await next.promote();
    await next.query(`delete from ssh_credentials`, 'service');
    for (let n = 0; n < 3; n += 1) expect(await answersOf(instance, () => read(instance, change))).toEqual(BY_PRIMARY);
    expect(told().join()).toMatch(/is no standby; .*(let|in) REPLICA_DATABASE_URL/);
    expect(told().filter((line) => line.includes('is no standby'))).toHaveLength(1);
    await instance.stop();
  });
});
