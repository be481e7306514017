import { setTimeout as sleep } from 'node:timers/promises';
import { afterAll, beforeAll, beforeEach, describe, expect, it } from '@jest/globals';
import pg from 'pg';
import { SessionChangeStreams, SessionChanges } from '../src/api/tunnel-sessions/session-changes.js';
import { EventStream } from './support/event-stream.js';
import { eventually } from './support/eventually.js';
import { startInstance } from './support/instance.js';
import { tokenOf } from './support/live-feed.js';
import { addAccount, addUser, type TestPrincipal } from './support/principals.js';
import { GATEWAY, type Service, startService } from './support/service.js';
import {
  credentialOf,
  endOf,
  newSession,
  type OwnCredential,
  pretendWatching,
  ReportingGateway,
} from './support/session-reports.js';

const DAY_MS = 86_400_000;
/** The bound of the issue, from the report to the news. */
const WITHIN_MS = 5_000;

/** As GET shows it. */
const TIME = /^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{3}Z$/;

let service: Service;
let tenant: TestPrincipal;
let credential: OwnCredential;
let gateway: ReportingGateway;

beforeAll(async () => {
  service = await startService(GATEWAY);
});
afterAll(() => service.stop());
beforeEach(async () => {
  tenant = await addAccount(service);
  credential = await credentialOf(service, tenant);
  gateway = new ReportingGateway(service.gateway);
});

const connect = (reader: TestPrincipal, url = service.app.url) =>
  EventStream.open(`${url}/tunnel_sessions/changes`, tokenOf(reader));
/** A stream after its `ready`. */
async function follow(reader = tenant, url = service.app.url): Promise<EventStream> {
  const stream = await connect(reader, url);
  expect([stream.response.statusCode, stream.response.headers['content-type']]).toEqual([200, 'text/event-stream']);
  await stream.until(1);
  expect(stream.messages).toEqual([{ id: 0, event: 'ready', data: {} }]);
  return stream;
}
const told = ({ messages }: EventStream) => messages.slice(1).map(({ event, data }) => [event, data.session_id]);
const soon = (expectation: () => unknown) => eventually(expectation, WITHIN_MS);
const openOf = async ({ client }: TestPrincipal): Promise<string[]> =>
  (await client.get('/tunnel_sessions')).body.tunnel_sessions.map(({ id }: { id: string }) => id);

describe('a key that is live from two sources', () => {
  const doubled = async () => {
    const { body } = await tenant.client.get('/tunnel_sessions');
    const sessions: { id: string; doubled: boolean }[] = body.tunnel_sessions;
    return sessions.flatMap((session) => (session.doubled ? [session.id] : [])).sort();
  };
  const metric = async () =>
    /^tunnel_access_doubled_keys (\d+)$/m.exec((await service.gateway.get('/ssh_gateway/metrics')).body)?.[1];

  it('for longer than 60 s is doubled in its sessions, their news and a metric, until one ends; no other key is', async () => {
    const stream = await follow();
    const [once, young] = [await credentialOf(service, tenant), await credentialOf(service, tenant)];
    const [one, other] = [
      newSession(credential, { ago_ms: 70_000, source: '203.0.113.9' }),
      newSession(credential, { ago_ms: 61_000, source: '203.0.113.10' }),
    ];
    await gateway.whole({
      sessions: [
        // From one source, and with one session that is younger than 60 s.
        newSession(once, { ago_ms: 70_000, source: '203.0.113.9' }),
        newSession(once, { ago_ms: 70_000, source: '203.0.113.9' }),
        newSession(young, { ago_ms: 70_000, source: '203.0.113.9' }),
        newSession(young, { ago_ms: 1_000, source: '203.0.113.10' }),
        ...[one, other],
      ],
    });
    const twins = [one, other].map(({ id }) => id).sort();
    await eventually(async () => expect(await doubled()).toEqual(twins), 15_000);
    const news = () => told(stream).filter(([event]) => event === 'doubled');
    await soon(() => expect(news().sort()).toEqual(twins.map((id) => ['doubled', id])));
    expect(await metric()).toBe('1');
    await gateway.send({ ended_sessions: [endOf(other)] });
    await eventually(async () => expect(await doubled()).toEqual([]), 15_000);
    await eventually(async () => expect(await metric()).toBe('0'));
    // Else the young one would be news of a later test.
    await gateway.whole({ sessions: [] });
    stream.close();
  });
});

describe('the news of sessions', () => {
  it('tell what opens and what ends, within 5 s and with the reason', async () => {
    const stream = await follow();
    const session = newSession(credential);
    await gateway.whole({ sessions: [session] });
    await soon(() => expect(told(stream)).toEqual([['opened', session.id]]));
    await gateway.send({ ended_sessions: [endOf(session, { reason: 'lost' })] });
    await soon(() => expect(stream.messages).toHaveLength(3));
    const opened = {
      ...{ session_id: session.id, account_id: tenant.accountId, credential_id: credential.id, owner_id: tenant.id },
      ...{ source: '203.0.113.9', client: 'SSH-2.0-OpenSSH_9.2', gateway_id: gateway.id, gateway_name: null },
      started_at: expect.stringMatching(TIME),
    };
    const counters = { bytes_in: null, bytes_out: null, connections: null };
    const ended = { ...opened, bytes_in: 10, bytes_out: 20, connections: 1, ended_at: expect.stringMatching(TIME) };
    expect(stream.messages.slice(1)).toEqual([
      { id: 1, event: 'opened', data: { ...opened, ...counters } },
      { id: 2, event: 'ended', data: { ...ended, reason: 'lost' } },
    ]);
    stream.close();
  });

  it('tell what gateways report to another instance', async () => {
    const other = await startInstance(service.databaseUrl);
    const stream = await follow(tenant, other.url);
    const session = newSession(credential);
    await gateway.send({ sessions: [session] });
    await soon(() => expect(told(stream)).toEqual([['opened', session.id]]));
    stream.close();
    await other.stop();
  });

  it('of a session that opens and ends at once have its end, and ends come before what is open', async () => {
    const stream = await follow();
    const [short, long] = [newSession(credential), newSession(credential)];
    await gateway.send({ sessions: [long, short], ended_sessions: [endOf(short)] });
    await soon(() =>
      expect(told(stream)).toEqual([
        ['ended', short.id],
        ['opened', long.id],
      ]),
    );
    stream.close();
  });

  it('tell that the sessions of a silent gateway ended, and that they are open again when it reports them again', async () => {
    const stream = await follow();
    const session = newSession(credential);
    await gateway.whole({ sessions: [session] });
    await soon(() => expect(told(stream)).toEqual([['opened', session.id]]));
    await pretendWatching(service, 1_000);
    const silence = `update gateway_runs set heard_at = now() - interval '16 seconds' where id = $1`;
    await service.pool.query(silence, [gateway.id]);
    await soon(() => expect(stream.messages.at(-1)?.data).toMatchObject({ reason: 'gateway_lost' }));
    await gateway.whole({ sessions: [session] });
    const expected = ['opened', 'ended', 'opened'].map((event) => [event, session.id]);
    await soon(() => expect(told(stream)).toEqual(expected));
    stream.close();
  });

  it('are for members those of their credentials, for admins and auditors all, and nothing for other accounts', async () => {
    const [member, auditor] = [
      await addUser(service, 'member', tenant.client),
      await addUser(service, 'auditor', tenant.client),
    ];
    const readers = [member, tenant, auditor, await addAccount(service)];
    const streams = await Promise.all(readers.map((reader) => follow(reader)));
    const [own, other] = [newSession(await credentialOf(service, member)), newSession(credential)];
    const toldOf = (event: string) =>
      streams.map((stream) =>
        told(stream)
          .flatMap(([name, id]) => (name === event ? id : []))
          .sort(),
      );
    const all = [own.id, other.id].sort();
    await gateway.send({ sessions: [own, other] });
    await soon(() => expect(toldOf('opened')).toEqual([[own.id], all, all, []]));
    await gateway.send({ ended_sessions: [endOf(own), endOf(other)] });
    await soon(() => expect(toldOf('ended')).toEqual([[own.id], all, all, []]));
    for (const stream of streams) stream.close();
  });

  it('with a list after `ready` say exactly what is open, whatever opens and ends meanwhile', async () => {
    const flapping = new AbortController();
    const flap = async (one: ReportingGateway) => {
      for (let open = [newSession(credential)]; !flapping.signal.aborted; await sleep(5)) {
        const [oldest, ...rest] = [...open, newSession(credential)];
        const ends = rest.length > 3 && oldest !== undefined ? [oldest] : [];
        await one.send({ sessions: open.slice(-1), ended_sessions: ends.map((session) => endOf(session)) });
        open = ends.length > 0 || oldest === undefined ? rest : [oldest, ...rest];
      }
    };
    const flaps = [1, 2, 3].map(() => flap(new ReportingGateway(service.gateway)));
    await sleep(300);
    const stream = await follow();
    const known = new Set(await openOf(tenant));
    await sleep(1_500);
    flapping.abort();
    await Promise.all(flaps);
    const open = await openOf(tenant);
    await soon(() => {
      const now = new Set(known);
      for (const [event, id] of told(stream)) event === 'opened' ? now.add(id) : now.delete(id);
      expect([...now].sort()).toEqual(open.sort());
    });
    expect(told(stream).length).toBeGreaterThan(20);
    stream.close();
  });

  it('begin with `ready` after the first look, however long that takes, so that no later change is missed', async () => {
    const changes = new SessionChanges(service.pool);
    const since = changes.since.bind(changes);
    changes.since = async (last) => {
      await sleep(last === undefined ? 500 : 0);
      return since(last);
    };
    const streams = new SessionChangeStreams(changes, () => undefined);
    const reader = {
      place: 'one',
      who: 'This account',
      advice: 'close one',
      heardOf: <Changed>(changed: Changed) => changed,
    };
    const stream = await streams.open(new AbortController().signal, reader);
    const session = newSession(credential);
    let text = '';
    stream.setEncoding('utf8').on('data', (part: string) => {
      text += part;
      if (part.includes('event: ready')) void gateway.send({ sessions: [session] });
    });
    await soon(() => expect(text).toContain(session.id));
    stream.destroy();
  });

  it.each([
    ['its key is revoked', (by: TestPrincipal) => tenant.client.delete(`/api_keys/${by.keyId}`)],
    ['its owner gets another role', (by: TestPrincipal) => tenant.client.patch(`/users/${by.id}`, { role: 'member' })],
    ['its owner is deactivated', (by: TestPrincipal) => tenant.client.patch(`/users/${by.id}`, { active: false })],
  ])('end when %s, also for a stalled reader, and not for others', async (_, act) => {
    const reader = await addUser(service, 'auditor', tenant.client);
    const [stream, stalled, other] = [await follow(reader), await follow(reader), await follow()];
    stalled.response.pause();
    expect((await act(reader)).status).toBeLessThan(300);
    expect(await stream.ended).toBe('ended');
    stalled.response.resume();
    expect(['ended', 'cut']).toContain(await stalled.ended);
    expect(other.response.destroyed).toBe(false);
    other.close();
  });

  it('end at a shutdown', async () => {
    const instance = await startInstance(service.databaseUrl);
    const stream = await follow(tenant, instance.url);
    await instance.stop();
    expect(await stream.ended).toBe('ended');
  });

  it('end when there is too much to tell, and begin anew', async () => {
    const stream = await follow();
    await service.pool.query(
      `insert into tunnel_sessions (account_id, id, gateway_id, credential_id, owner_id, started_at, reported)
        select 'ac_many', 'ts_' || n, 'gw_many', 'sshcr_many', 'usr_many', now(), 1 from generate_series(1, 20001) n`,
    );
    expect(await stream.ended).toBe('ended');
    const next = await follow();
    const session = newSession(credential);
    await gateway.send({ sessions: [session] });
    await soon(() => expect(told(next)).toEqual([['opened', session.id]]));
    next.close();
  });

  it('are refused beyond five of a user, whose account has more, until one closes', async () => {
    const streams = await Promise.all(Array.from({ length: 5 }, () => follow()));
    const { status, body } = await tenant.client.get('/tunnel_sessions/changes');
    const message = 'This user or bot already has 5 streams of changes at this instance; close one.';
    expect([status, body.error_code, body.msg]).toEqual([429, 'ERR_NGROK_226', message]);
    (await follow(await addUser(service, 'auditor', tenant.client))).close();
    streams.pop()?.close();
    await eventually(async () => {
      const next = await connect(tenant);
      next.close();
      expect(next.response.statusCode).toBe(200);
    });
    for (const stream of streams) stream.close();
  });

  it('need a key, have no filter, and answer HEAD with the headers alone', async () => {
    expect((await fetch(`${service.app.url}/tunnel_sessions/changes`)).status).toBe(401);
    const filtered = await tenant.client.get(`/tunnel_sessions/changes?credential_id=${credential.id}`);
    expect([filtered.status, filtered.body.msg]).toEqual([400, expect.stringContaining("'credential_id'")]);
    const head = await tenant.client.send('HEAD', '/tunnel_sessions/changes', undefined);
    expect([head.status, head.headers.get('content-type')]).toEqual([200, 'text/event-stream']);
  });
});

describe('a look for news of sessions', () => {
  it('finds what is committed however long after its time', async () => {
    const changes = new SessionChanges(service.pool);
    const client = await service.pool.connect();
    const ADD = `insert into tunnel_sessions (account_id, id, gateway_id, credential_id, owner_id, started_at, reported)
      values ('ac_late', $1, 'gw_late', 'sshcr_late', 'usr_late', now(), 1)`;
    await client.query('begin');
    await client.query(ADD, ['ts_late']);
    const before = await changes.since(undefined);
    await service.pool.query(ADD, ['ts_early']);
    const meanwhile = await changes.since(before.watermark);
    expect(meanwhile.rows?.map(({ id }) => id)).toEqual(['ts_early']);
    await client.query('commit');
    client.release();
    const after = await changes.since(meanwhile.watermark);
    expect(after.rows?.map(({ id }) => id)).toEqual(['ts_late']);
    expect((await changes.since(after.watermark)).rows).toEqual([]);
  });

  it('finds an end that is told a month late', async () => {
    const changes = new SessionChanges(service.pool);
    const { watermark } = await changes.since(undefined);
    const session = newSession(credential, { ago_ms: 31 * DAY_MS });
    await gateway.send({ sessions: [session], ended_sessions: [endOf(session, { ago_ms: 30 * DAY_MS })] });
    const [end, ...others] = (await changes.since(watermark)).rows ?? [];
    expect([end?.name, end?.id, others]).toEqual(['ended', session.id, []]);
    const { ended_at = '' } = (end?.data ?? {}) as { readonly ended_at?: string };
    expect(Math.round((Date.now() - Date.parse(ended_at)) / DAY_MS)).toBe(30);
  });

  it('reads new rows alone of 10,000 sessions and 20,000 records, and nothing in the partitions of older weeks', async () => {
    const large = await startService(GATEWAY);
    const sql = new pg.Client(large.databaseUrl);
    await sql.connect();
    const addSessions = (first: number, last: number) =>
      sql.query(
        `insert into tunnel_sessions (account_id, id, gateway_id, credential_id, owner_id, started_at, reported)
          select 'ac_1', 'ts_' || n, 'gw_1', 'sshcr_1', 'usr_1', now(), 1 from generate_series($1::int, $2::int) n`,
        [first, last],
      );
    const addRecords = (first: number, last: number, age: string) =>
      sql.query(
        `insert into tunnel_session_records (account_id, id, session_id, gateway_id, credential_id, owner_id, started_at, ended_at,
            reason)
          select 'ac_1', left(ksuid_floor('tsr', now() - $3::interval), 21) || lpad(n::text, 10, '0'), 'ts_' || n, 'gw_1',
            'sshcr_1', 'usr_1', now(), now(), 'x' from generate_series($1::int, $2::int) n`,
        [first, last, age],
      );
    await sql.query(`do $$ begin execute format('create table ${OLD} partition of tunnel_session_records
      for values from (%L) to (%L)', ksuid_floor('tsr', now() - interval '20 days'), ksuid_floor('tsr', now() - interval '19 days'));
      end $$`);
    // As gateways report them: many transactions.
    for (let n = 0; n < 10_000; n += 100) {
      await addSessions(n + 1, n + 100);
      await addRecords(n + 1, n + 100, '1 minute');
      await addRecords(n + 1, n + 100, '19.5 days');
    }
    await sql.query('analyze');
    const pool = new pg.Pool({ connectionString: large.databaseUrl, max: 1 });
    const changes = new SessionChanges(pool);
    // PostgreSQL counts the reads of `sql` itself up to a second later.
    await sql.query('select pg_stat_force_next_flush()');
    const before = (await sql.query(READ)).rows[0];
    const { watermark } = await changes.since(undefined);
    await addSessions(10_001, 10_005);
    for (let n = 0; n < 5; n += 1) expect((await changes.since(watermark)).rows).toHaveLength(5);
    // PostgreSQL counts what a connection read when it ends.
    await pool.end();
    await eventually(async () => expect((await sql.query(READ)).rows[0].rows - before.rows).toBeGreaterThanOrEqual(25));
    const after = (await sql.query(READ)).rows[0];
    expect(after.rows - before.rows).toBeLessThan(100);
    expect(after.scans - before.scans).toBe(0);
    await sql.end();
    await large.stop();
  });
});

const OLD = 'tunnel_session_records_old';
/** Rows of sessions and records that were read, and how often the old partition was looked into. */
const READ = `select sum(coalesce(idx_tup_fetch, 0) + seq_tup_read)::float8 as rows,
    sum(coalesce(idx_scan, 0) + seq_scan) filter (where relname = '${OLD}')::float8 as scans
  from pg_stat_user_tables where relname = 'tunnel_sessions' or relname like 'tunnel_session_records%'`;
