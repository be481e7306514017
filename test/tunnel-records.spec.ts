import { setTimeout as sleep } from 'node:timers/promises';
import { afterAll, beforeAll, beforeEach, describe, expect, it } from '@jest/globals';
import { RecordRetention } from '../src/api/gateway-api/records/record-retention.js';
import { firstIdOf } from '../src/kernel/ids.js';
import { addAccount, addUser, type TestPrincipal } from './support/principals.js';
import { GATEWAY, type Service, startService } from './support/service.js';
import {
  credentialOf,
  endOf,
  newSession,
  newTunnel,
  type OwnCredential,
  ReportingGateway,
} from './support/session-reports.js';

const DAY_MS = 86_400_000;
const HOUR_MS = 3_600_000;

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

/** Reports a session with a tunnel, which ended so long ago. */
async function ended(of = credential, agoMs = 0, more: object = {}) {
  const session = newSession(of, { ago_ms: agoMs + 1_000 });
  const tunnel = newTunnel(session, { ago_ms: agoMs + 500 });
  const end = endOf(session, { ago_ms: agoMs, ...more });
  await gateway.send({ sessions: [session], tunnels: [tunnel], ended_sessions: [end] });
  return { session, tunnel };
}
const list = async (path: string) => (await tenant.client.get(path)).body;
const idsOf = (records: readonly { session_id: string }[]) => records.map(({ session_id }) => session_id);

describe('GET /tunnel_session_records', () => {
  it('has each session that ended, with its tunnels and what they carried', async () => {
    const { session, tunnel } = await ended(credential, 0, { reason: 'lost' });
    const { tunnel_session_records: records } = await list('/tunnel_session_records');
    const times = { started_at: expect.any(String), ended_at: expect.any(String) };
    expect(records).toEqual([
      {
        id: expect.stringMatching(/^tsr_[0-9A-Za-z]{27}$/),
        ...{ session_id: session.id, credential_id: credential.id, owner_id: tenant.id, fingerprint: null },
        ...{ source: '203.0.113.9', client: 'SSH-2.0-OpenSSH_9.2', gateway_id: gateway.id, gateway_name: null },
        ...times,
        ...{ reason: 'lost', bytes_in: 10, bytes_out: 20, connections: 1 },
        tunnels: [
          {
            ...{ id: tunnel.id, credential_id: credential.id, targets: tunnel.targets, ...times },
            ...{ reason: 'lost', bytes_in: null, bytes_out: null, connections: null },
          },
        ],
      },
    ]);
    expect(Date.parse(records[0].ended_at) - Date.parse(records[0].started_at)).toBe(1_000);
  });

  it('has pages by the time of the end, and those of a credential or between two times', async () => {
    const other = await credentialOf(service, tenant);
    const made = [];
    for (const hours of [5, 4, 3, 2, 1]) made.push((await ended(credential, hours * HOUR_MS)).session.id);
    const ofOther = (await ended(other, 2.5 * HOUR_MS)).session.id;
    const newestFirst = made.toReversed();
    const first = await list('/tunnel_session_records?limit=2');
    expect(idsOf(first.tunnel_session_records)).toEqual(newestFirst.slice(0, 2));
    const second = await list(first.next_page_uri.slice(service.app.url.length));
    expect(idsOf(second.tunnel_session_records)).toEqual([ofOther, newestFirst[2]]);
    const own = await list(`/tunnel_session_records?credential_id=${credential.id}&limit=3`);
    expect(idsOf(own.tunnel_session_records)).toEqual(newestFirst.slice(0, 3));
    const rest = await list(own.next_page_uri.slice(service.app.url.length));
    expect(idsOf(rest.tunnel_session_records)).toEqual(newestFirst.slice(3));
    const at = (hours: number) => encodeURIComponent(new Date(Date.now() - hours * HOUR_MS).toISOString());
    const some = await list(`/tunnel_session_records?ended_after=${at(4.5)}&ended_before=${at(2.2)}`);
    expect(idsOf(some.tunnel_session_records)).toEqual([ofOther, newestFirst[2], newestFirst[3]]);
  });

  it('is for admins and auditors of the account, and refuses what is no id or time', async () => {
    await ended();
    const auditor = await addUser(service, 'auditor', tenant.client);
    const member = await addUser(service, 'member', tenant.client);
    const stranger = await addAccount(service);
    for (const path of ['/tunnel_session_records', '/edge_connection_records']) {
      expect((await member.client.get(path)).status).toBe(403);
      expect((await auditor.client.get(path)).status).toBe(200);
      for (const query of [
        'credential_id=x',
        'ended_after=yesterday',
        'ended_before=2026-02-30T00:00:00Z',
        'other=1',
      ]) {
        expect([query, (await tenant.client.get(`${path}?${query}`)).status]).toEqual([query, 400]);
      }
    }
    expect((await stranger.client.get('/tunnel_session_records')).body.tunnel_session_records).toEqual([]);
  });
});

describe('GET /edge_connection_records', () => {
  it('has each connection through an edge, by edge and by credential', async () => {
    const edges = [];
    for (const n of [1, 2]) {
      edges.push((await tenant.client.post('/edges/tcp', { hostports: [`edge-${n}.example.test:4000`] })).body.id);
    }
    const session = newSession(credential);
    const connection = (edge: string, more: object = {}) => ({
      ...{ account_id: tenant.accountId, edge_id: edge, hostport: 'edge.example.test:4000', client: '192.0.2.7:5000' },
      ...{ ago_ms: 0, ms: 2_000, bytes_in: 5, bytes_out: 6, reason: 'closed', ...more },
    });
    const through = { session_id: session.id, credential_id: credential.id };
    await gateway.send({
      edge_connections: [connection(edges[0], { ...through, ago_ms: 1_000 }), connection(edges[1])],
    });
    const all = (await list('/edge_connection_records')).edge_connection_records;
    expect(all).toMatchObject([
      { edge_id: edges[1], credential_id: null },
      { edge_id: edges[0], ...through, tunnel_id: null, client: '192.0.2.7:5000', bytes_in: 5, reason: 'closed' },
    ]);
    const edgesOf = async (query: string) =>
      (await list(`/edge_connection_records?${query}`)).edge_connection_records.map(
        ({ edge_id }: { edge_id: string }) => edge_id,
      );
    expect(await edgesOf(`edge_id=${edges[1]}`)).toEqual([edges[1]]);
    expect(await edgesOf(`credential_id=${credential.id}`)).toEqual([edges[0]]);
    const both = `/edge_connection_records?edge_id=${edges[1]}&credential_id=${credential.id}`;
    expect((await tenant.client.get(both)).status).toBe(400);
  });
});

describe('a connection to a name', () => {
  const connection = (more: object) => ({
    ...{
      account_id: tenant.accountId,
      host: 'app.example.test',
      client: '192.0.2.7:5000',
      credential_id: credential.id,
    },
    ...{ ago_ms: 0, ms: 2_000, bytes_in: 5, bytes_out: 6, reason: 'closed', ...more },
  });

  it('is a record with its host and without an edge', async () => {
    await gateway.send({ edge_connections: [connection({})] });
    const [record] = (await list(`/edge_connection_records?credential_id=${credential.id}`)).edge_connection_records;
    expect(record).toMatchObject({ host: 'app.example.test', edge_id: null, hostport: null, bytes_out: 6 });
  });

  it.each([
    ['without a credential of the account', { credential_id: `sshcr_${'0'.repeat(27)}` }, 'unknown_credential'],
    ['without a host', { host: undefined }, 'unknown_edge'],
    ['of an edge too', { hostport: 'a.test:1' }, 'unknown_credential'],
  ])('%s is no record', async (_, more, reason) => {
    const before = (await list('/edge_connection_records')).edge_connection_records;
    const { body } = await gateway.send({ edge_connections: [connection(more)] });
    expect(body.ignored).toMatchObject([{ reason }]);
    expect((await list('/edge_connection_records')).edge_connection_records).toEqual(before);
  });
});

describe('the logs of a connection', () => {
  const LOGS = [
    { place: 'on_tcp_connect[0].actions[0]', metadata: { message: 'é😀', n: [1, null, { deep: true }] } },
    { place: 'on_tcp_connect[1].actions[0]', metadata: {} },
  ];
  const connectionWith = async (more: object) => {
    const { id, hostports } = (await tenant.client.post('/edges/tcp', { hostports: [`${tenant.id}.test:4000`] })).body;
    const ids = { account_id: tenant.accountId, edge_id: id, hostport: hostports[0] };
    return { ...ids, ago_ms: 0, ms: 1, reason: 'closed', ...more };
  };

  it.each<[what: string, logs: unknown, kept: unknown]>([
    ['two', LOGS, LOGS],
    ['none', [], null],
    ['null', null, null],
    ['nothing', undefined, null],
  ])('are in its record as the gateway reported them: %s', async (_, logs, kept) => {
    expect((await gateway.send({ edge_connections: [await connectionWith({ logs })] })).status).toBe(200);
    const [record] = (await list('/edge_connection_records')).edge_connection_records;
    expect(record.logs).toEqual(kept);
  });

  const logsOf = (bytes: number) => {
    const empty = { place: 'a', metadata: { a: '' } };
    return [{ place: 'a', metadata: { a: 'x'.repeat(bytes - JSON.stringify(empty).length) } }];
  };

  it('are refused beyond 4,096 bytes, and if they are no logs', async () => {
    const fits = await connectionWith({ logs: logsOf(4_096) });
    expect((await gateway.send({ edge_connections: [fits] })).status).toBe(200);
    for (const [logs, message] of [
      [logsOf(4_097), 'edge_connections[0].logs has 4097 bytes as JSON; the maximum is 4096.'],
      [{}, 'edge_connections[0].logs must be a list.'],
      [['a'], 'edge_connections[0].logs[0] must be an object.'],
      [[{ metadata: {} }], 'edge_connections[0].logs[0].place is missing.'],
      [[{ place: 'a', metadata: 'b' }], 'edge_connections[0].logs[0].metadata must be an object.'],
      [
        [{ place: 'a', metadata: {}, n: 1 }],
        'A name you sent is not a field of this body; the fields are metadata, place.',
      ],
    ]) {
      const { status, body } = await gateway.send({ edge_connections: [await connectionWith({ logs })] });
      expect([status, body.msg]).toEqual([400, message]);
    }
  });
});

describe('the partitions of records', () => {
  const PARENTS = ['bind_decisions', 'edge_connection_records', 'tunnel_records', 'tunnel_session_records'];
  const partitions = async (parent: string): Promise<string[]> => {
    const { rows } = await service.pool.query(
      `select c.relname as name from pg_inherits i join pg_class c on c.oid = i.inhrelid where i.inhparent = $1::regclass order by 1`,
      [parent],
    );
    return rows.map(({ name }) => name);
  };
  const day = (n: number) => new Date(Date.now() + n * DAY_MS).toISOString().slice(0, 10).replaceAll('-', '');
  const retention = (days: number) => new RecordRetention(service.pool, { decisionsRetentionDays: days });
  const tableOf = async (id: string) =>
    (
      await service.pool.query(
        'select tableoid::regclass::text as t from tunnel_session_records where session_id = $1',
        [id],
      )
    ).rows[0]?.t;

  it('are made for today and two days ahead, and take what ends now; what is late is in the default one', async () => {
    for (const parent of PARENTS) {
      expect(await partitions(parent)).toEqual(
        [...[0, 1, 2].map((n) => `${parent}_${day(n)}`), `${parent}_default`].sort(),
      );
    }
    expect(await tableOf((await ended()).session.id)).toBe(`tunnel_session_records_${day(0)}`);
    expect(await tableOf((await ended(credential, 30 * DAY_MS)).session.id)).toBe('tunnel_session_records_default');
  });

  it('begin where the ids of a day begin, as the service makes them', async () => {
    for (const at of [0, 1_400_000_000_000, 1_400_000_001_000, Date.UTC(2026, 10, 27), Date.UTC(2099, 0, 1)]) {
      const { rows } = await service.pool.query('select ksuid_floor($1, $2) as id', ['bd', new Date(at)]);
      expect([at, rows[0].id]).toEqual([at, firstIdOf('bd', new Date(at))]);
    }
  });

  it('are dropped when all of their rows are too old, and what is late is deleted by its age', async () => {
    const late = (await ended(credential, 5 * DAY_MS)).session.id;
    // The id of its record is a week old.
    const old = (await ended(credential, 9 * DAY_MS)).session.id;
    for (const n of [-7, -6, -2]) {
      const [from, to] = [n, n + 1].map((days) =>
        firstIdOf('bd', new Date(Math.floor(Date.now() / DAY_MS + days) * DAY_MS)),
      );
      await service.pool.query(
        `create table bind_decisions_${day(n)} partition of bind_decisions for values from ('${from}') to ('${to}')`,
      );
    }
    await retention(6).purge();
    const left = await partitions('bind_decisions');
    expect([-7, -6, -2].filter((n) => left.includes(`bind_decisions_${day(n)}`))).toEqual([-6, -2]);
    const { tunnel_session_records: records } = await list('/tunnel_session_records');
    expect(idsOf(records)).toContain(late);
    expect(idsOf(records)).not.toContain(old);
    await retention(0).purge();
    expect(await partitions('bind_decisions')).toEqual(left);
    await service.pool.query(`drop table bind_decisions_${day(-6)}, bind_decisions_${day(-2)}`);
  });

  it('of today are never dropped, whoever asks for it', async () => {
    const before = await partitions('tunnel_records');
    await service.pool.query(`select keep_partitions('tunnel_records', now() + interval '1 year')`);
    expect(await partitions('tunnel_records')).toEqual(before);
    await expect(service.pool.query(`select keep_partitions('events', null)`)).rejects.toThrow(
      'knows no record events',
    );
  });

  it('are kept by several instances at once', async () => {
    const day2 = `edge_connection_records_${day(2)}`;
    await service.pool.query(`drop table ${day2}`);
    await Promise.all(Array.from({ length: 8 }, () => retention(90).purge()));
    expect(await partitions('edge_connection_records')).toContain(day2);
  });

  it('are not waited for: a reader that goes on makes the round fail, and other readers go on', async () => {
    await service.pool.query(`drop table tunnel_records_${day(2)}`);
    const reader = await service.pool.connect();
    await reader.query('begin');
    await reader.query('select from tunnel_records');
    const round = retention(90)
      .purge()
      .then(
        () => 'made',
        (error) => String(error),
      );
    await sleep(100);
    const startedAt = performance.now();
    await service.pool.query('select from tunnel_records');
    expect(performance.now() - startedAt).toBeLessThan(2_000);
    expect(await round).toMatch(/lock timeout/);
    await reader.query('rollback');
    reader.release();
    await retention(90).purge();
    expect(await partitions('tunnel_records')).toContain(`tunnel_records_${day(2)}`);
  });
});

it('the presence of a deleted credential is forgotten, and no other', async () => {
  const [kept, deleted] = [credential, await credentialOf(service, tenant)];
  for (const one of [kept, deleted]) await ended(one);
  await tenant.client.delete(`/ssh_credentials/${deleted.id}`);
  await new RecordRetention(service.pool, { decisionsRetentionDays: 0 }).purge(new Date(Date.now() + 3 * DAY_MS));
  const { rows } = await service.pool.query('select credential_id from credential_presence where account_id = $1', [
    tenant.accountId,
  ]);
  expect(rows).toEqual([{ credential_id: kept.id }]);
});
