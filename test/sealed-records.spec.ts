import { createHash } from 'node:crypto';
import { Writable } from 'node:stream';
import { afterAll, beforeAll, beforeEach, describe, expect, it } from '@jest/globals';
import { RecordSeals } from '../src/api/audit/evidence/record-seals.js';
import { RecordRetention } from '../src/api/gateway-api/records/record-retention.js';
import { READ_MODELS } from '../src/api/read-models.js';
import { type Database, openDatabase } from '../src/database/database.js';
import { EventLog } from '../src/event-log/append/event-log.js';
import { exportAll } from '../src/event-log/transfer/export-all.js';
import { KeyHistory, newCheckpointKey } from '../src/event-log/transparency/seal/checkpoint-key.js';
import { verify } from '../src/event-log/verify/verify.js';
import { type IdPrefix, idAt } from '../src/kernel/ids.js';
import { eventually } from './support/eventually.js';
import { imported } from './support/imported.js';
import { addAccount, addUser, type TestPrincipal } from './support/principals.js';
import { cloneDatabase, GATEWAY, type Service, startCopy, startService, testConfig } from './support/service.js';
import { credentialOf, endOf, newSession, newTunnel, ReportingGateway } from './support/session-reports.js';

const HOUR_MS = 3_600_000;
const DAY_MS = 24 * HOUR_MS;
const hourOf = (at: number): Date => new Date(Math.floor(at / HOUR_MS) * HOUR_MS);
const HOUR = hourOf(Date.now());
const hoursAgo = (hours: number, ms = 1_000): Date => new Date(HOUR.getTime() - hours * HOUR_MS + ms);
/** The end of an hour that began so many hours ago. */
const endOfHour = (hours: number): string => hoursAgo(hours - 1, 0).toISOString();

const FIXED = { started_at: '2026-01-02T03:04:05.000006Z', ended_at: '2026-01-02T03:04:06Z', reason: 'client' };
const OF_SESSION = { session_id: 'ts_1', credential_id: 'sshcr_1', owner_id: 'usr_1', ...FIXED };
const ROWS = {
  bind_decisions: {
    ...{
      decided_at: FIXED.ended_at,
      credential_id: 'sshcr_1',
      owner_id: 'usr_1',
      fingerprint: 'SHA256:a',
      allowed: true,
    },
    ...{ target: { hostport: null, port: 1 }, reason: 'permitted', gateway: '192.0.2.1' },
  },
  tunnel_session_records: { ...OF_SESSION, gateway_id: 'gw_1', bytes_in: Number.MAX_SAFE_INTEGER },
  tunnel_records: { ...OF_SESSION, tunnel_id: 'tn_1', targets: [] },
  edge_connection_records: { ...FIXED, edge_id: 'edgtcp_1', hostport: 'é.example.com:1', gateway_id: 'gw_1' },
};
type Table = keyof typeof ROWS;
const PREFIXES: Record<Table, IdPrefix> = {
  bind_decisions: 'bd',
  tunnel_session_records: 'tsr',
  tunnel_records: 'tnr',
  edge_connection_records: 'ec',
};

let service: Service;
let tenant: TestPrincipal;
beforeAll(async () => {
  service = await startService(GATEWAY);
});
afterAll(() => service.stop());
beforeEach(async () => {
  tenant = await addAccount(service);
});

const sql = async (text: string, values: readonly unknown[] = []) => (await service.pool.query(text, [...values])).rows;

/** Writes a record that settled at a time. The day of its id is today, unless another is given. */
const ADD = (table: Table): string => `insert into ${table} select * from json_populate_record(null::${table}, $1)`;
function rowOf(table: Table, settled: Date, { account = tenant.accountId, at = new Date() } = {}) {
  return { account_id: account, id: idAt(PREFIXES[table], at), settled_at: settled, ...ROWS[table] };
}
async function add(table: Table, settled: Date, more: { account?: string; at?: Date } = {}): Promise<string> {
  const row = rowOf(table, settled, more);
  await sql(ADD(table), [JSON.stringify(row)]);
  return row.id;
}

const sealedIn = async (account = tenant.accountId) =>
  (
    await sql(
      `select data::json as data, metadata::json ->> 'actor' as actor from events
      where account_id = $1 and type = 'records_sealed.v1' order by position`,
      [account],
    )
  ).map(({ data, actor }) => ({ ...data, actor }));

const newSeals = () => new RecordSeals(service.pool, new EventLog(service.pool, () => undefined));
const NEVER = new AbortController().signal;
/** Transactions of other tests may be open on the server. */
async function sealUntil(count: number, seals = [newSeals()]): Promise<void> {
  await eventually(async () => {
    await Promise.all(seals.map((one) => one.next(NEVER)));
    expect(await sealedIn()).toHaveLength(count);
  }, 30_000);
}

/** What `audit verify` says of the tenant's records. */
async function verified(url = service.databaseUrl, hasRecords = true) {
  const [faults, notes]: [string[], string[]] = [[], []];
  await onDatabase(url, (database) =>
    verify(database, READ_MODELS, {
      ...{ account: tenant.accountId, hasRecords, keysOf: () => [] },
      ...{ begin: () => undefined, events: () => undefined },
      fault: ({ what }) => faults.push(what),
      warn: (what) => notes.push(what),
    }),
  );
  return { faults, notes };
}
async function onDatabase<T>(url: string, work: (database: Database) => Promise<T>): Promise<T> {
  const database = await openDatabase(testConfig(url), () => undefined);
  try {
    return await work(database);
  } finally {
    await database.close();
  }
}

const records = async (from: string, to: string, client = tenant.client) =>
  client.get(`/log/records?from=${from}&to=${to}`);
const digestOf = (lines: readonly string[]): string =>
  createHash('sha256')
    .update(lines.map((line) => `${line}\n`).join(''))
    .digest('hex');

async function exportedLines(): Promise<string[]> {
  const blocks: Buffer[] = [];
  const output = new Writable({ write: (block, _, done) => done(void blocks.push(Buffer.from(block))) });
  const watcher = { begin: () => undefined, events: () => undefined };
  await onDatabase(service.databaseUrl, (database) => exportAll(database, output, watcher));
  return Buffer.concat(blocks).toString().trimEnd().split('\n');
}

describe('an hour of records', () => {
  it('is sealed by one event, also if instances race, and covers all since the hour before', async () => {
    for (const table of Object.keys(ROWS) as Table[]) for (const n of [4, 4, 2]) await add(table, hoursAgo(n));
    await add('bind_decisions', hoursAgo(4), { account: '' });
    await sealUntil(2, Array.from({ length: 4 }, newSeals));
    const day = expect.stringMatching(/^\d{4}-\d\d-\d\d$/);
    const kinds = (count: number) =>
      Object.fromEntries(Object.keys(ROWS).map((table) => [table, [{ day, count, sha256: expect.any(String) }]]));
    const [first, second] = [endOfHour(4), endOfHour(2)];
    expect(await sealedIn()).toEqual([
      { from: '1970-01-01T00:00:00.000Z', to: first, kinds: kinds(2), actor: 'system' },
      { from: first, to: second, kinds: kinds(1), actor: 'system' },
    ]);
    expect(await verified()).toEqual({ faults: [], notes: [] });
  });

  it('is hashed as GET /log/records and the export write it, in the order of ids', async () => {
    for (const table of Object.keys(ROWS) as Table[]) for (let n = 0; n < 3; n += 1) await add(table, hoursAgo(3));
    await add('tunnel_records', hoursAgo(2));
    await sealUntil(2);
    const [{ from, to, kinds }] = await sealedIn();
    const { status, body } = await records(from, to);
    expect(status).toBe(200);
    const lines: string[] = body.trimEnd().split('\n');
    for (const table of Object.keys(ROWS)) {
      const own = lines.filter((line) => JSON.parse(line).table === table);
      expect(own).toEqual(own.toSorted((a, b) => (JSON.parse(a).row.id < JSON.parse(b).row.id ? -1 : 1)));
      expect(kinds[table]).toEqual([{ day: expect.any(String), count: 3, sha256: digestOf(own) }]);
    }
    expect((await exportedLines()).filter((line) => lines.includes(line)).toSorted()).toEqual(lines.toSorted());
  });

  it('is not sealed while a transaction is open that began before its end; the late record is then no fault', async () => {
    await add('tunnel_records', hoursAgo(3));
    const late = await service.pool.connect();
    const seals = newSeals();
    try {
      await late.query('begin');
      await late.query(ADD('tunnel_records'), [JSON.stringify(rowOf('tunnel_records', hoursAgo(2)))]);
      for (let n = 0; n < 5; n += 1) await seals.next(NEVER);
      expect(await sealedIn()).toEqual([]);
      await late.query('commit');
    } finally {
      late.release(true);
    }
    await sealUntil(2, [seals]);
    expect((await verified()).faults).toEqual([]);
  });

  it('of another account waits for none that cannot be sealed', async () => {
    const stuck = await addAccount(service);
    for (const { accountId } of [stuck, tenant]) await add('tunnel_records', hoursAgo(2), { account: accountId });
    await sql(`create function refuse() returns trigger language plpgsql as $$ begin raise 'no'; end $$`);
    await sql(`create trigger refuse before insert on events for each row when (new.account_id = '${stuck.accountId}')
      execute function refuse()`);
    const seals = newSeals();
    await eventually(async () => {
      await seals.next(NEVER).catch(() => undefined);
      expect(await sealedIn()).toHaveLength(1);
    }, 30_000);
    await expect(seals.next(NEVER)).rejects.toThrow('no');
    await sql('drop function refuse cascade');
    await eventually(async () => {
      await seals.next(NEVER);
      expect(await sealedIn(stuck.accountId)).toHaveLength(1);
    }, 30_000);
  });

  it('has the bytes that it had: a column that is added later, and is null, changes nothing', async () => {
    const id = '_2uXFrZcTNCLV2rSTdp2iRAHKRxK';
    for (const table of Object.keys(ROWS) as Table[]) {
      const row = { ...ROWS[table], id: `${PREFIXES[table]}${id}`, account_id: tenant.accountId };
      await sql(ADD(table), [JSON.stringify({ ...row, settled_at: '2026-01-02T03:04:07.000008Z' })]);
    }
    const frozen = async () => {
      const { body } = await records('2026-01-02T03:00:00Z', '2026-01-02T04:00:00Z');
      return digestOf(body.trimEnd().replaceAll(tenant.accountId, 'ac_1').split('\n'));
    };
    const FROZEN = '4f959c0892a52dccd971895440c2f23a9538f58ef5aedb12a20a0a9636019bf7';
    expect(await frozen()).toBe(FROZEN);
    for (const table of Object.keys(ROWS)) await sql(`alter table ${table} add column later jsonb`);
    expect(await frozen()).toBe(FROZEN);
    for (const table of Object.keys(ROWS)) await sql(`alter table ${table} drop column later`);
  });

  it('is sealed by the service itself, if it has a key', async () => {
    await add('edge_connection_records', hoursAgo(2));
    const copy = await startCopy(service, { checkpointKeys: new KeyHistory(newCheckpointKey('sealed.example')) });
    await eventually(async () => expect(await sealedIn()).toHaveLength(1), 65_000);
    await copy.stop();
  }, 80_000);
});

describe('audit verify', () => {
  const hour = (text: string): unknown =>
    expect.stringMatching(new RegExp(`^the hour before ${endOfHour(3)}: ${text}`));

  it.each<[what: string, change: () => Promise<unknown>, said: string]>([
    [
      'was deleted',
      () => sql('delete from tunnel_records where account_id = $1', [tenant.accountId]),
      'tunnel_records .*: 1 were .*, and 0 are',
    ],
    [
      'was changed',
      () => sql('update tunnel_records set owner_id = $2 where account_id = $1', [tenant.accountId, 'usr_2']),
      'tunnel_records .*: 1 were .*, and 1 are',
    ],
    ['was added', () => add('tunnel_records', hoursAgo(3)), 'tunnel_records .*: 1 were .*, and 2 are'],
    [
      'was added to an hour without one, with the id of a day that is gone',
      () => add('tunnel_records', hoursAgo(5), { at: new Date(0) }),
      'tunnel_records .*: 0 were .*, and 1 are',
    ],
  ])('names the hour of a record that %s', async (_, change, said) => {
    await add('tunnel_records', hoursAgo(3));
    await sealUntil(1);
    await change();
    expect((await verified()).faults).toEqual([hour(said)]);
    expect((await verified(service.databaseUrl, false)).faults).toEqual([]);
  });

  it('says from when on records are not sealed', async () => {
    await add('tunnel_records', hoursAgo(3));
    await sealUntil(1);
    const settled = new Date();
    await add('tunnel_records', settled);
    expect((await verified()).notes).toEqual([`records are not sealed yet from ${settled.toISOString()} on`]);
  });

  it('finds no fault in what retention removed, and says which days are gone; what is kept is compared', async () => {
    const old = new Date(Date.now() - 40 * DAY_MS);
    await add('tunnel_records', hoursAgo(3), { at: old });
    await add('tunnel_records', hoursAgo(3));
    await sealUntil(1);
    expect((await sealedIn())[0].kinds.tunnel_records).toHaveLength(2);
    await new RecordRetention(service.pool, { decisionsRetentionDays: 30 }).purge();
    const day = old.toISOString().slice(0, 10);
    expect(await verified()).toEqual({
      faults: [],
      notes: [expect.stringContaining(`records of ${day} or before are gone`)],
    });
    await sql('delete from tunnel_records where account_id = $1', [tenant.accountId]);
    expect((await verified()).faults).toEqual([hour('tunnel_records')]);
  });

  it('agrees with a copy of all logs, and finds what is removed from the copy', async () => {
    // No partition of the copy is of this day.
    const at = new Date(Date.now() - 3 * DAY_MS);
    for (const table of Object.keys(ROWS) as Table[])
      for (const more of [{ at }, { at }]) await add(table, hoursAgo(75), more);
    const removed = await add('tunnel_records', hoursAgo(75), { at });
    await add('tunnel_records', hoursAgo(2));
    await sealUntil(2);
    const [lines, copy] = [await exportedLines(), await cloneDatabase()];
    await onDatabase(copy.url, (database) => imported(database, [lines]));
    expect(await verified(copy.url)).toEqual({ faults: [], notes: [] });
    await onDatabase(copy.url, ({ pool }) => pool.query('delete from tunnel_records where id = $1', [removed]));
    expect((await verified(copy.url)).faults).toEqual([expect.stringContaining(`the hour before ${endOfHour(75)}`)]);
    await copy.drop();
  });

  it('finds no fault after a session that was lost with its gateway has come back, and took its end with it', async () => {
    const credential = await credentialOf(service, tenant);
    const gateway = new ReportingGateway(service.gateway);
    const session = newSession(credential);
    const tunnel = newTunnel(session);
    await gateway.send({ sessions: [session], tunnels: [tunnel] });
    await gateway.send({ ended_sessions: [endOf(session, { reason: 'gateway_lost' })] });
    const ends = `select extract(epoch from settled_at - clock_timestamp()) / 3600 as hours from tunnel_session_records
      where session_id = $1 union all select extract(epoch from settled_at - clock_timestamp()) / 3600 from tunnel_records where session_id = $1`;
    const settle = (await sql(ends, [session.id])).map(({ hours }) => Math.round(Number(hours)));
    expect(settle).toEqual([49, 49]);
    await gateway.send({ sessions: [session], tunnels: [tunnel] });
    expect(await sql(ends, [session.id])).toEqual([]);
  });
});

describe('GET /log/records', () => {
  it('is for admins and auditors, of their own account', async () => {
    await add('tunnel_records', hoursAgo(3));
    const [from, to] = [hoursAgo(4).toISOString(), hoursAgo(2).toISOString()];
    expect((await records(from, to, service.admin)).body).toBeUndefined();
    for (const [role, status] of [
      ['auditor', 200],
      ['member', 403],
    ] as const) {
      const { client } = await addUser(service, role, tenant.client);
      expect([role, (await records(from, to, client)).status]).toEqual([role, status]);
    }
    for (const query of ['', `?from=${from}`, `?from=${from}&to=x`]) {
      expect([query, (await tenant.client.get(`/log/records${query}`)).status]).toEqual([query, 400]);
    }
  });
});
