import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import pg from 'pg';
import { writeManyEvents } from '../../bench/many-events.mjs';
import { AuditReads } from '../../src/database/audit-reads.js';
import { queryNamed, type Transaction } from '../../src/database/query.js';
import type { EventFilter } from '../../src/event-log/read/event-filter.js';
import { LogPages } from '../../src/event-log/read/log-pages.js';
import { newPublicKey } from '../support/keys.js';
import { longer } from '../support/longer-log.js';
import { addManyCredentials, addManyKeys, deleteEveryThird, headOf, idOfMany } from '../support/many-credentials.js';
import { addUser, type TestPrincipal } from '../support/principals.js';
import { runCli, runCliOn } from '../support/process.js';
import { readOnceAlone, rowsFetched } from '../support/rows-read.js';
import { cloneDatabase, type Service, startCopy, startService } from '../support/service.js';

const ACCOUNT = 'ac_000000000000000000000000000';
const EVENTS = 100_000;
const RARE = 99_000;
const STREAM_EVENTS = 1_000;

let service: Service;
let auditReads: AuditReads;
beforeAll(async () => {
  service = await startService({ auditReadConnections: 2 });
  auditReads = new AuditReads(service.app.database.auditReadPool, 30_000);
});
afterAll(() => service.stop());

/** A log of two actors and two types, and one event of another type, actor and stream. */
const fill = () =>
  service.pool.query(
    `insert into events select $1, n, stream, case when stream = 'rare' then 1 else n end, gen_random_uuid(), type, '{}',
       json_build_object('ip', '192.0.2.1', 'actor', actor), now(), now(), ''
     from (select n, case when n = $3 then 'rare' when n % 100 = 0 then 'busy' else 'stream ' || n end as stream,
         case when n = $3 then 'rare.v1' else 'type_' || n % 2 || '.v1' end as type,
         case when n = $3 then 'rare' else 'actor_' || n % 2 end as actor from generate_series(1, $2::int) n) made`,
    [ACCOUNT, EVENTS, RARE],
  );

interface Plan {
  readonly 'Node Type': string;
  readonly 'Relation Name'?: string;
  readonly 'Actual Rows': number;
  readonly 'Actual Loops': number;
  readonly 'Rows Removed by Filter'?: number;
  readonly Plans?: readonly Plan[];
}

/** Rows of tables that a plan read. */
const readBy = (plan: Plan): number =>
  (plan.Plans ?? []).reduce((sum, part) => sum + readBy(part), 0) +
  (plan['Relation Name'] === undefined
    ? 0
    : (plan['Actual Rows'] + (plan['Rows Removed by Filter'] ?? 0)) * plan['Actual Loops']);

const quoted = (value: unknown): string =>
  value === null ? 'null' : `'${Array.isArray(value) ? `{${value.join(',')}}` : String(value)}'`;

/** A page of a filtered log, and the rows that its statements read by the plans that the connection keeps. */
async function pageOf(filter: EventFilter, after = 0, max = 10) {
  let read = 0;
  const reader = { accountId: ACCOUNT, signal: new AbortController().signal };
  const page = await auditReads.run(reader, async (connections) => {
    const ask = <R extends pg.QueryResultRow>(text: string) => queryNamed<R>(connections, { name: '', text }, []);
    const explained: Transaction = {
      run: async (statement, values) => {
        const result = await queryNamed(connections, statement, values);
        const plan = await ask<{ 'QUERY PLAN': readonly { readonly Plan: Plan }[] }>(
          `explain (analyze, format json) execute "${statement.name}"(${values.map(quoted).join(', ')})`,
        );
        for (const row of plan.rows) for (const { Plan } of row['QUERY PLAN']) read += readBy(Plan);
        return result as never;
      },
    };
    return new LogPages(explained).page(ACCOUNT, { after, upTo: EVENTS }, filter, { events: max, characters: 1e6 });
  });
  return { found: page.events.map(({ position }) => position), scannedTo: page.scannedTo, read };
}

const FILTERS: [string, EventFilter, number[]][] = [
  ['a type', { type: 'rare.v1' }, [RARE]],
  ['an actor', { actor: 'rare' }, [RARE]],
  ['a stream', { streamId: 'rare' }, [RARE]],
  ['an unknown type', { type: 'none' }, []],
  ['an unknown actor', { actor: 'none' }, []],
  ['an actor and a type that never meet', { actor: 'actor_0', type: 'type_1.v1' }, []],
  ['an actor and a type that meet', { actor: 'actor_1', type: 'type_1.v1' }, [1, 3, 5, 7, 9, 11, 13, 15, 17, 19]],
  ['a frequent actor', { actor: 'actor_0' }, [2, 4, 6, 8, 10, 12, 14, 16, 18, 20]],
  ['a frequent type', { type: 'type_0.v1' }, [2, 4, 6, 8, 10, 12, 14, 16, 18, 20]],
  ['all three', { actor: 'rare', type: 'rare.v1', streamId: 'rare' }, [RARE]],
];

describe('a filter of /events', () => {
  beforeAll(async () => {
    // Every statement is planned before the log has any event, and statistics say for ever that it has none.
    await service.pool.query('alter table events set (autovacuum_enabled = off)');
    await Promise.all([0, 1].flatMap(() => FILTERS.map(([, filter]) => pageOf(filter))));
    await fill();
  });

  it.each(FILTERS)(
    'by %s reads no more than what it finds, and finds all in one page',
    async (_, filter, positions) => {
      const { found, scannedTo, read } = await pageOf(filter);
      expect(found).toEqual(positions);
      expect(scannedTo).toBe(positions.length === 10 ? positions.at(-1) : EVENTS);
      expect(read).toBeLessThan(100);
    },
  );

  it('by a stream with another filter reads the stream at most', async () => {
    const { found, read } = await pageOf({ streamId: 'busy', actor: 'actor_1' });
    expect(found).toEqual([]);
    expect(read).toBeLessThanOrEqual(STREAM_EVENTS);
  });

  it('after a late position reads what follows', async () => {
    expect(await pageOf({ actor: 'actor_1' }, EVENTS - 5)).toMatchObject({ found: [99_997, 99_999] });
    const { found, read } = await pageOf({ actor: 'actor_1' }, EVENTS - 5_000, 2);
    expect(found).toEqual([95_001, 95_003]);
    expect(read).toBeLessThan(100);
  });
});

describe('audit import', () => {
  it('writes the log of an account with one key on 20,000 credentials in seconds', async () => {
    const [of, target] = [await startService(), await cloneDatabase()];
    await of.admin.post('/ssh_credentials', { public_key: newPublicKey() });
    const exported = (await runCli({ DATABASE_URL: of.databaseUrl }, 'audit', 'export')).stdout;
    const log = longer(exported, 'ssh_credential_created', 20_000);
    const { code, stderr } = await runCliOn(log, { DATABASE_URL: target.url }, 'audit', 'import', '-');
    expect([code, stderr]).toEqual([0, expect.stringMatching(/ rows made from these events, and proven\n$/)]);
    await of.stop();
    await target.drop();
  });
});

describe('audit verify --account', () => {
  it('reads no events of other accounts', async () => {
    const copy = await cloneDatabase();
    const sql = new pg.Client(copy.url);
    await sql.connect();
    await writeManyEvents(sql, 10_000);
    await sql.query('insert into log_heads (account_id, size, recorded_at) values ($1, 0, now())', [ACCOUNT]);
    const eventsRead = () => readOnceAlone(sql, EVENTS_READ);
    const before = await eventsRead();
    const { code, stderr } = await runCli({ DATABASE_URL: copy.url }, 'audit', 'verify', '--account', ACCOUNT);
    const read = (await eventsRead()) - before;
    await sql.end();
    await copy.drop();
    expect([code, stderr]).toEqual([0, expect.stringContaining('0 events of 1 accounts')]);
    expect(read).toBeLessThan(100);
  });
});

const EVENTS_READ = `select (seq_tup_read + (select sum(idx_tup_read) from pg_stat_user_indexes i where i.relid = t.relid))::float8 as n
  from pg_stat_user_tables t where relname = 'events'`;

describe('projections prove --account', () => {
  it('reads each row of a long table once for its log, and once for its claims', async () => {
    const copy = await cloneDatabase();
    const sql = new pg.Client(copy.url);
    await sql.connect();
    const account = await writeManyEvents(sql, 20_000);
    const fetched = () => readOnceAlone(sql, rowsFetched('ssh_credentials'));
    await runCli({ DATABASE_URL: copy.url }, 'projections', 'repair');
    const before = await fetched();
    const { code, stderr } = await runCli({ DATABASE_URL: copy.url }, 'projections', 'prove', '--account', account);
    const read = (await fetched()) - before;
    await sql.end();
    await copy.drop();
    expect([code, stderr]).toEqual([0, expect.stringContaining('17000 rows compared with 20000 events')]);
    expect(read).toBeLessThanOrEqual(2 * 13_000);
  });
});

const LISTED_READ = rowsFetched('events', 'ssh_credentials', 'api_keys');
const ENTITIES = 20_000;

type List = readonly [path: string, ids: readonly string[]];

describe('a list as of an early position, of few entities of a large account', () => {
  const none: readonly List[] = [
    ['/ssh_credentials?owner_id=none&', []],
    [`/ssh_credentials?fingerprint=${encodeURIComponent(`SHA256:${'A'.repeat(43)}`)}&`, []],
  ];
  let some: readonly List[];
  let large: Service;
  let member: TestPrincipal;
  let position = 1;
  /** An instance that has asked before the account was large. */
  let early: Service;
  let sql: pg.Client;

  async function find({ admin }: Service, lists: readonly List[]): Promise<List[]> {
    const found: List[] = [];
    for (const [path] of lists) {
      const by = path.startsWith('/api_keys') ? admin.as(member.client.token ?? '') : admin;
      const { body } = await by.get(`${path}as_of=${position}`);
      const items = Object.values<{ id: string }[]>(body).find(Array.isArray) ?? [];
      found.push([path, items.map(({ id }) => id)]);
    }
    return found;
  }

  /** Returns lists that have entities, of which some exist and others were deleted since. */
  async function fillAccount(accountId: string): Promise<List[]> {
    const create = async (path: string, body: object): Promise<string> => (await large.admin.post(path, body)).body.id;
    const createRare = () => create('/ssh_credentials', { public_key: newPublicKey(), owner_id: 'rare' });
    const busy = { accountId, id: 'busy' };
    await addManyCredentials(sql, busy, ENTITIES);
    await addManyKeys(sql, busy, ENTITIES);
    const [live, deletedBefore, deletedSince] = [await createRare(), await createRare(), await createRare()];
    const key = await create('/api_keys', { owner_id: member.id });
    await large.admin.delete(`/ssh_credentials/${deletedBefore}`);
    await deleteEveryThird(sql, busy, 1);
    position = await headOf(sql, accountId);
    const ended = [10, 20, 30].map((third) => idOfMany(3 * third));
    for (const id of [deletedSince, ...ended]) await large.admin.delete(`/ssh_credentials/${id}`);
    await large.admin.delete(`/api_keys/${key}`);
    await createRare();
    const { rows } = await sql.query(
      `select data::json ->> 'fingerprint' as key from events where account_id = $1 and stream_id = $2 and stream_version = 1`,
      [accountId, deletedSince],
    );
    return [
      ['/ssh_credentials?limit=2&', [deletedSince, live]],
      ['/ssh_credentials?owner_id=rare&', [deletedSince, live]],
      ['/ssh_credentials?owner_id=rare&expiring_before=2100-01-01T00:00:00Z&', []],
      [`/ssh_credentials?fingerprint=${encodeURIComponent(rows[0].key)}&`, [deletedSince]],
      ['/api_keys?', [key, member.keyId]],
    ];
  }

  beforeAll(async () => {
    large = await startService();
    member = await addUser(large, 'member');
    sql = new pg.Client(large.databaseUrl);
    await sql.connect();
    for (const table of ['events', 'ssh_credentials', 'api_keys'])
      await sql.query(`alter table ${table} set (autovacuum_enabled = off)`);
    early = await startCopy(large, { auditReadConnections: 1 });
    await find(early, [...none, ['/ssh_credentials?', []], ['/api_keys?', []]]);
    some = await fillAccount(member.accountId);
    await large.app.close();
    await sql.query('select pg_stat_force_next_flush()');
    await sql.query('select pg_stat_reset()');
  });
  afterAll(async () => {
    await sql.end();
    await large.stop();
  });

  it.each([
    ['before the account had any', async () => early],
    ['after the tables were analyzed', () => sql.query('analyze').then(() => startCopy(large))],
  ])('reads no others, but those that were deleted since, by a plan that was made %s', async (_, instance) => {
    const asked = await instance();
    const found = await find(asked, [...none, ...some]).finally(() => asked.stop());
    expect(found).toEqual([...none, ...some]);
    expect(await readOnceAlone(sql, LISTED_READ)).toBeLessThan(1_000);
    await sql.query('select pg_stat_reset()');
  });
});
