import type { Readable } from 'node:stream';
import { setTimeout as sleep } from 'node:timers/promises';
import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import pg, { type Pool } from 'pg';
import { gatewayReader } from '../src/api/gateway-api/revocations/change-streams.js';
import { CredentialChanges } from '../src/api/gateway-api/revocations/credential-changes.js';
import { LogTail } from '../src/event-log/read/log-tail.js';
import { startSwallowingProxy } from './support/answer-swallowing-proxy.js';
import { type TestCredential, upload } from './support/decisions.js';
import { EventStream } from './support/event-stream.js';
import { until } from './support/eventually.js';
import { startInstance } from './support/instance.js';
import { newPublicKey } from './support/keys.js';
import { addManyCredentials } from './support/many-credentials.js';
import { addAccount, addBot, addUser, type TestPrincipal } from './support/principals.js';
import { GATEWAY, GATEWAY_TOKEN, type Service, startCopy, startService } from './support/service.js';
import { newSession, ReportingGateway } from './support/session-reports.js';

/** Two instances of the service on one database. What one of them writes, the streams of both tell. */
let service: Service;
let other: Awaited<ReturnType<typeof startCopy>>;
let streams: readonly EventStream[];
beforeAll(async () => {
  service = await startService(GATEWAY);
  other = await startCopy(service, GATEWAY);
  streams = await Promise.all([service.app.url, other.app.url].map((url) => follow(url)));
});
afterAll(async () => {
  for (const stream of streams) stream.close();
  await other.stop();
  await service.stop();
});

/** A stream of changes, after its `ready`. */
async function follow(url: string): Promise<EventStream> {
  const stream = await EventStream.open(`${url}/ssh_gateway/changes`, GATEWAY_TOKEN);
  expect(stream.response.statusCode).toBe(200);
  await stream.until(1);
  expect(stream.messages).toMatchObject([{ event: 'ready', data: {} }]);
  return stream;
}

const idsOf = ({ messages }: EventStream): readonly string[] =>
  messages.flatMap(({ event, data }) => (event === 'changed' ? data.credential_ids : []));

/** The bound of 100 ms, with the patience of a busy machine. */
const SOON_MS = 500;

/** Resolves once both streams have told of these credentials. */
async function untilTold(ids: readonly string[], patienceMs = SOON_MS): Promise<void> {
  const deadline = Date.now() + patienceMs;
  for (const stream of streams) {
    while (!ids.every((id) => idsOf(stream).includes(id)) && Date.now() < deadline) await sleep(2);
    expect(idsOf(stream)).toEqual(expect.arrayContaining([...ids]));
  }
}

/** Forgets what was told until now. */
function forget(): void {
  for (const stream of streams) stream.messages.length = 0;
}

const newCredential = (by: TestPrincipal, more: object = {}): Promise<TestCredential> =>
  upload(service, by.client, { public_key: newPublicKey(), ...more });

/** What a stream has sent. */
function textOf(stream: Readable): () => string {
  let text = '';
  stream.setEncoding('utf8').on('data', (part: string) => {
    text += part;
  });
  return () => text;
}

interface Change {
  readonly what: string;
  readonly act: (of: { readonly id: string; readonly owner: TestPrincipal }) => Promise<{ readonly status: number }>;
  readonly undo?: (owner: TestPrincipal) => Promise<unknown>;
}

const CHANGES: readonly Change[] = [
  { what: 'is deleted', act: ({ id }) => service.admin.delete(`/ssh_credentials/${id}`) },
  {
    what: 'gets other rules',
    act: ({ id }) => service.admin.patch(`/ssh_credentials/${id}`, { acl: ['bind:a.test'] }),
  },
  {
    what: 'has an owner who is deactivated',
    act: ({ owner }) => service.admin.patch(`/users/${owner.id}`, { active: false }),
  },
  { what: 'has an owner who is deleted', act: ({ owner }) => service.admin.delete(`/users/${owner.id}`) },
];

describe('a stream of changes tells, on every instance', () => {
  it.each(CHANGES)('that a credential $what', async ({ act }) => {
    const owner = await addUser(service, 'member');
    const { id } = await newCredential(owner);
    expect((await act({ id, owner })).status).toBeLessThan(300);
    await untilTold([id]);
  });

  it('that an owner is active again, and of every credential of a deleted bot', async () => {
    const [user, bot] = [await addUser(service, 'member'), await addBot(service)];
    const { id } = await newCredential(user);
    await service.admin.patch(`/users/${user.id}`, { active: false });
    await untilTold([id]);
    forget();
    await service.admin.patch(`/users/${user.id}`, { active: true });
    await untilTold([id]);
    const owned = await Promise.all([1, 2, 3].map(() => newCredential(bot)));
    await service.admin.delete(`/bot_users/${bot.id}`);
    await untilTold(owned.map((credential) => credential.id));
  });

  it('that the key of a credential has another one now, which no gateway knows yet', async () => {
    const owner = await addUser(service, 'member');
    const key = newPublicKey();
    const first = await newCredential(owner, { public_key: key });
    // A change of its own, so that no look finds the creations of both.
    await service.admin.patch(`/ssh_credentials/${first.id}`, { description: 'the first' });
    await untilTold([first.id]);
    forget();
    const second = await newCredential(owner, { public_key: key });
    await untilTold([first.id]);
    for (const stream of streams) expect(idsOf(stream)).not.toContain(second.id);
    forget();
    await service.admin.delete(`/ssh_credentials/${second.id}`);
    await untilTold([first.id, second.id]);
  });

  it('what other accounts change, and nothing about what gateways do not ask for', async () => {
    const foreigner = await addAccount(service);
    const { id } = await newCredential(foreigner);
    forget();
    await foreigner.client.post('/edges/tcp', {});
    await foreigner.client.post('/api_keys', {});
    await foreigner.client.delete(`/ssh_credentials/${id}`);
    await untilTold([id]);
    for (const stream of streams) expect(idsOf(stream)).toEqual([id]);
  });

  it('that a credential expires, when it does, by the clock of the database', async () => {
    const { id } = await newCredential(await addUser(service, 'member'));
    const { rows } = await service.pool.query(
      `update ssh_credentials set expires_at = clock_timestamp() + interval '400 milliseconds' where id = $1
        returning (extract(epoch from expires_at) * 1000)::float8 as at`,
      [id],
    );
    while (!idsOf(streams[0] as EventStream).includes(id) && Date.now() < rows[0].at + 3_000) await sleep(2);
    expect(Date.now()).toBeGreaterThanOrEqual(rows[0].at);
    await untilTold([id]);
  });
});

describe('a session that somebody stops', () => {
  it('is told to the gateways of its account by both instances, with its account and who stopped it, and is no change of a credential', async () => {
    const admin = await addAccount(service);
    const credential = await newCredential(admin);
    const session = newSession({ accountId: admin.accountId, id: credential.id });
    await new ReportingGateway(service.gateway).send({ sessions: [session] });
    forget();
    expect((await admin.client.post(`/tunnel_sessions/${session.id}/restart`, undefined)).status).toBe(204);
    await until(() => streams.every(({ messages }) => messages.length > 0));
    const stop = { account_id: admin.accountId, session_id: session.id, restart: true, by: 'admin@example.test' };
    for (const { messages } of streams)
      expect(messages).toMatchObject([{ event: 'stopped', data: { sessions: [stop] } }]);
  });
});

describe('no change is missed', () => {
  /** An event of a credential's stream in an account of its own, in the transaction of this connection. */
  const APPEND = `insert into events (account_id, position, stream_id, stream_version, event_id, type, data, metadata,
      occurred_at, recorded_at, leaf_hash)
    values ($1, 1, $2, 2, gen_random_uuid(), 'ssh_credential_deleted.v1', '{}', '{}', now(), now(), '')`;

  it('however long after its time it is committed', async () => {
    const { pool } = service;
    const tail = new LogTail(pool);
    const client = await pool.connect();
    await client.query('begin');
    await client.query(APPEND, ['ac_late', 'sshcr_late']);
    const before = await tail.since(undefined);
    await pool.query(APPEND, ['ac_early', 'sshcr_early']);
    const meanwhile = await tail.since(before.watermark);
    const deletion = { type: 'ssh_credential_deleted.v1', position: 1 };
    expect(meanwhile.rows).toEqual([{ account_id: 'ac_early', stream_id: 'sshcr_early', ...deletion }]);
    await client.query('commit');
    client.release();
    const after = await tail.since(meanwhile.watermark);
    expect(after.rows).toEqual([{ account_id: 'ac_late', stream_id: 'sshcr_late', ...deletion }]);
    expect((await tail.since(after.watermark)).rows).toEqual([]);
  });

  it('when another server answers, or the clock of the database went back: any may have changed, or expires again', async () => {
    const tail = new LogTail(service.pool);
    const { watermark } = await tail.since(undefined);
    expect((await tail.since({ ...watermark, server: '2026-01-01 00:00:00+00' })).rows).toBeUndefined();
    const { id } = await newCredential(await addUser(service, 'member'));
    await service.pool.query('update ssh_credentials set expires_at = clock_timestamp() where id = $1', [id]);
    const rows = { add: async () => '2999-01-01 00:00:00+00', remove: () => undefined };
    const ahead = new CredentialChanges(rows, service.pool, () => undefined);
    const text = textOf(await ahead.open(new AbortController().signal, gatewayReader({})));
    const { now } = (await tail.since(undefined)).watermark;
    for (const clock of [watermark.now, now]) {
      for (let looks = 0; looks < 4; looks += 1) ahead.news([], clock);
      await sleep(100);
    }
    expect(text()).toContain(id);
    ahead.onModuleDestroy();
  });

  it('when there are too many for a message: the stream ends', async () => {
    const tail = new LogTail(service.pool);
    const { watermark } = await tail.since(undefined);
    await service.pool.query(
      `insert into events (account_id, position, stream_id, stream_version, event_id, type, data, metadata, occurred_at,
          recorded_at, leaf_hash)
        select 'ac_many', n, 'sshcr_' || n, 2, gen_random_uuid(), 'ssh_credential_deleted.v1', '{}', '{}', now(), now(), ''
        from generate_series(1, 10001) n`,
    );
    const { rows, watermark: next } = await tail.since(watermark);
    expect(rows).toBeUndefined();
    expect((await tail.since(next)).rows).toEqual([]);
    const stream = streams.map(({ ended }) => ended);
    expect(await Promise.all(stream)).toEqual(['ended', 'ended']);
    streams = await Promise.all([service.app.url, other.app.url].map((url) => follow(url)));
  });

  it('while the database is away: the stream ends, and another one is refused with 503', async () => {
    const proxy = await startSwallowingProxy(service.databaseUrl);
    const instance = await startInstance(proxy.url);
    const stream = await follow(instance.url);
    proxy.goAway();
    expect(await stream.ended).toBe('ended');
    const { status, headers } = await instance.gateway.get('/ssh_gateway/changes');
    expect([status, headers.get('retry-after')]).toEqual([503, expect.any(String)]);
    proxy.comeBack();
    await follow(instance.url);
    await instance.stop();
    await proxy.close();
  });

  it('over a restart, which may deny a key: the stream ends, and a recheck after `ready` tells', async () => {
    const { id, fingerprint } = await newCredential(await addUser(service, 'member'));
    const known = [{ credential_id: id, version: 1 }];
    const instance = await startInstance(service.databaseUrl);
    const stream = await follow(instance.url);
    expect((await instance.gateway.post('/ssh_gateway/recheck', known)).body).toMatchObject({ changed: [] });
    await instance.stop();
    expect(await stream.ended).toBe('ended');
    const restarted = await startInstance(service.databaseUrl, { deniedFingerprints: new Set([fingerprint]) });
    await follow(restarted.url);
    const { body } = await restarted.gateway.post('/ssh_gateway/recheck', known);
    expect(body).toMatchObject({ changed: [{ credential_id: id, reason: 'gone', version: null }] });
    await restarted.stop();
  });
});

describe('streams of changes', () => {
  const limits = { heartbeatMs: 200, maxStreams: 3, maxStreamsOfToken: 2, maxUnreadBytes: 1_000 };
  const open = (more: Partial<typeof limits> = {}) => {
    const { pool } = service;
    return new CredentialChanges(new LogTail(pool), pool, () => undefined, { ...limits, ...more });
  };
  const { signal } = new AbortController();
  const gateway = {};

  it('answer HEAD with the headers alone', async () => {
    const { status, headers, body } = await service.gateway.send('HEAD', '/ssh_gateway/changes', undefined);
    expect([status, headers.get('content-type'), body]).toEqual([200, 'text/event-stream', undefined]);
  });

  it('say something in every interval, and are cut when their reader does not take it', async () => {
    const changes = open();
    const stream = await changes.open(signal, gatewayReader(gateway));
    const text = textOf(stream);
    await until(() => text().split('\n\n').length > 4);
    const beat = ': nothing new\nid: 0';
    const said = ['retry: 1000', 'id: 0\nevent: ready\ndata: {}', beat, beat];
    expect(text().split('\n\n').slice(0, 4)).toEqual(said);
    stream.pause();
    await until(() => stream.destroyed);
    expect(changes.size).toBe(0);
  });

  it('are cut when their reader leaves too much', async () => {
    const changes = open({ heartbeatMs: 600_000 });
    const stream = await changes.open(signal, gatewayReader(gateway));
    const bot = await addBot(service);
    await Promise.all(Array.from({ length: 40 }, () => newCredential(bot)));
    await service.admin.patch(`/bot_users/${bot.id}`, { active: false });
    await until(() => stream.destroyed);
    expect(changes.size).toBe(0);
  });

  it.each([
    { maximum: 'instance', status: 503, maxStreams: 2, maxStreamsOfToken: 9 },
    { maximum: 'token', status: 429, maxStreams: 9, maxStreamsOfToken: 2 },
  ])('are refused above the maximum of the $maximum, until a client goes away', async ({ maximum, status, ...max }) => {
    const changes = open({ heartbeatMs: 600_000, ...max });
    const client = new AbortController();
    const opened = [
      await changes.open(client.signal, gatewayReader(gateway)),
      await changes.open(signal, gatewayReader(gateway)),
    ];
    const message = expect.stringContaining(`This ${maximum} already has 2 streams`);
    await expect(changes.open(signal, gatewayReader(gateway))).rejects.toMatchObject({ status, message });
    client.abort();
    await until(() => changes.size === 1);
    opened.push(await changes.open(signal, gatewayReader(gateway)));
    changes.onModuleDestroy();
    for (const stream of opened) stream.resume();
    await until(() => changes.size === 0);
  });

  it('leave no trace at the service when the client closes its connection', async () => {
    const instance = await startInstance(service.databaseUrl);
    const stream = await follow(instance.url);
    stream.close();
    await instance.stop();
  });

  it('cost no query without a reader', async () => {
    let asked = 0;
    const tail = new LogTail(service.pool);
    const since = tail.since.bind(tail);
    tail.since = (last) => since(last).finally(() => (asked += 1));
    const watched = new CredentialChanges(tail, service.pool, () => undefined, limits);
    const stream = await watched.open(signal, gatewayReader(gateway));
    stream.resume();
    await until(() => asked > 2);
    stream.destroy();
    await sleep(60);
    const last = asked;
    await sleep(100);
    expect(asked).toBe(last);
  });
});

describe('a look for changed credentials', () => {
  it('reads no more credentials of an owner than it tells of', async () => {
    const large = await startService();
    const owner = { accountId: 'ac_many', id: 'bot_many' };
    const [sql, pool] = [new pg.Client(large.databaseUrl), new pg.Pool({ connectionString: large.databaseUrl })];
    await sql.connect();
    await sql.query(`insert into log_heads (account_id, size, recorded_at) values ($1, 0, now())`, [owner.accountId]);
    await addManyCredentials(sql as unknown as Pool, owner, 40_000);
    await sql.query('analyze');
    const changes = new CredentialChanges(new LogTail(pool), pool, () => undefined);
    const type = 'bot_updated.v1';
    const update = { account_id: owner.accountId, stream_id: owner.id, type, position: 40_001 };
    const now = new Date().toISOString();
    const read = async () => (await sql.query<{ n: number }>(CREDENTIALS_READ)).rows[0]?.n ?? Number.NaN;
    const before = await read();
    expect(await changes.changedBy([update], { since: now, until: now })).toBeUndefined();
    // PostgreSQL counts what a connection read when it ends.
    await pool.end();
    const after = await read();
    await sql.end();
    await large.stop();
    // Each of the 10,001 that say that there are too many, and those of its key.
    expect(after - before).toBeLessThan(25_000);
  });
});

const CREDENTIALS_READ = `select (idx_tup_fetch + seq_tup_read)::float8 as n from pg_stat_user_tables where relname = 'ssh_credentials'`;
