import { afterEach, describe, expect, it } from '@jest/globals';
import pg from 'pg';
import { OidcUsers } from '../../src/api/access/authentication/oidc-users.js';
import type { Config } from '../../src/api/config/config.js';
import { EdgeChanges } from '../../src/api/gateway-api/edges/edge-changes.js';
import { RecordRetention } from '../../src/api/gateway-api/records/record-retention.js';
import { DoubledKeys } from '../../src/api/gateway-api/sessions/doubled-keys.js';
import { SilentGateways } from '../../src/api/gateway-api/sessions/silent-gateways.js';
import { ReservedNames } from '../../src/api/reservations/reserved-names.js';
import { LogTail } from '../../src/event-log/read/log-tail.js';
import type { BindTarget } from '../../src/rules/index.js';
import type { ApiClient } from './api-client.js';
import { inDatabase } from './backups.js';
import { newPublicKey } from './keys.js';
import { addManyCredentials } from './many-credentials.js';
import { addAccount, addBot, addUser, type TestPrincipal } from './principals.js';
import { CHECKPOINTS, callerOf, prepareSample, SAMPLES, type Walk } from './route-samples.js';
import { readOnceAlone, rowsFetched } from './rows-read.js';
import { GATEWAY, type Service, startCopy } from './service.js';

/** The first run of a statement makes its plan, which stays. */
const CALLS_BEFORE = 1;
const CALLS_AFTER = 2;
const CREDENTIALS = 50_000;
const OTHERS = 10_000;
/** All calls together may read so many rows of a table by scans, and so many entries of an index: a walk of the account's has OTHERS. */
const SCANNED = 200;
const ENTRIES = OTHERS / 2;
/**
 * They would come in the middle, and read much once: the hourly purge, the end of the gateway that no longer reports, and
 * the look at all open sessions for copied keys, by an index, every 5 s.
 */
const IN_THE_BACKGROUND = [RecordRetention, SilentGateways, DoubledKeys];
/**
 * Each second the sealer reads of a thousand logs whether they have grown, and a thousand events of one log again.
 */
const SEALED = /^(log_heads|log_checkpoints|events_pk)/;
const SEALED_EACH_SECOND = 2_000;
/** It reads the leaves of the loaded events once, to seal them. */
const LEAVES = 'events_pk';

const POOL = { host: 'tcp.example', from: 10_000, to: 19_999, region: '' };
/** A create of an account counts what it has twice: before the append, and in it. */
const OWN_RESERVATIONS = 20;

let service: Service;

type Start = (settings?: Partial<Config>) => Promise<Service>;

/** Rows as the service would have written them. */
async function load(accountId: string, from: number, credentials: number, others: number): Promise<void> {
  const rows = (max: number): string => `generate_series(${from}, ${from + max - 1}) n`;
  const id = (prefix: string): string => `'${prefix}_' || lpad(n::text, 27, '0')`;
  const added = credentials + others;
  const own = Math.min(others, OWN_RESERVATIONS);
  for (const statement of [
    `insert into log_heads select ${id('ac')}, 1, now() from ${rows(others)}`,
    `insert into log_checkpoints select ${id('ac')}, 1, 0, 'note' from ${rows(others)}`,
    `insert into log_tiles select ${id('other')}, 0, 0, '' from ${rows(others)}`,
    `insert into accounts select ${id('ac')}, ${id('ac')}, 1, now(), 'n', '{}' from ${rows(others)}`,
    `insert into principals select '${accountId}', ${id('bot')}, 1, now(), 'bot', 'n' || n, '', 'member', true, false from ${rows(others)}`,
    `insert into api_keys select '${accountId}', ${id('ak')}, 1, now(), ${id('bot')}, '', '', md5(n::text) from ${rows(others)}`,
    `insert into ssh_credentials select '${accountId}', ${id('sshcr')}, 1, now(), '', '', 'key', '{}', ${id('bot')}, 'ssh-ed25519', 256,
       'blob', 'SHA256:' || n, true from ${rows(credentials)}`,
    `insert into enrollment_keys select '${accountId}', ${id('enk')}, 1, now(), '', '', ${id('bot')}, md5(n::text), '{}', false, null, 1, 0 from ${rows(others)}`,
    `insert into tcp_edges select '${accountId}', ${id('edgtcp')}, 1, now(), '', '', '[{"text":"h.example:1","canonical":"h.example:1","exclusive":false}]',
       json_build_object('enabled', true, 'backend_id', ${id('bkdtg')})::jsonb, null, null from ${rows(others)}`,
    `insert into tcp_edge_hostports select '${accountId}', ${id('edgtcp')}, 'h' || n || '.example:1', true, now() from ${rows(others)}`,
    `insert into claims select 'key:SHA256:' || n, '${accountId}', 1, true from ${rows(credentials)}`,
    `insert into claims select 'hostport:h' || n || '.example:1', '${accountId}', 1, true from ${rows(others)}`,
    `insert into ip_policies select '${accountId}', ${id('ipp')}, 1, now(), '', '' from ${rows(others)}`,
    `insert into ip_policy_rules select '${accountId}', ${id('ipr')}, 1, now(), '', '', ${id('ipp')}, '192.0.2.0/24', 'allow' from ${rows(others)}`,
    `insert into tunnel_groups select '${accountId}', ${id('bkdtg')}, 1, now(), '', '', '{}' from ${rows(others)}`,
    `insert into bind_decisions select '${accountId}', ${id('bd')}, now(), ${id('sshcr')}, 1, ${id('bot')}, 'SHA256:' || n, '{"domain":"a.example"}', true, 'permitted',
       null, 'g', null from ${rows(others)}`,
    `insert into credential_usage select '${accountId}', ${id('sshcr')}, now() from ${rows(others)}`,
    `insert into credential_presence select '${accountId}', ${id('sshcr')}, n % 2, now() from ${rows(others)}`,
    `insert into tunnel_sessions select '${accountId}', ${id('ts')}, 'gw_000000000000000000000000001', null, ${id('sshcr')}, ${id('bot')}, null, null, null, now(), 0, 0, 0, 1
       from ${rows(others)}`,
    `insert into tunnels select '${accountId}', ${id('tn')}, ${id('ts')}, 'gw_000000000000000000000000001', ${id('sshcr')}, ${id('bot')},
       json_build_array(json_build_object('label', json_build_object('key', 'n', 'value', n::text)))::jsonb, now(), 0, 0, 0, 1 from ${rows(others)}`,
    `insert into tunnel_session_records select '${accountId}', ${id('tsr')}, ${id('ts')}, 'gw_000000000000000000000000001', null, ${id('sshcr')}, ${id('bot')}, null, null, null,
       now(), now(), 'client', 0, 0, 0 from ${rows(others)}`,
    `insert into tunnel_records select '${accountId}', ${id('tnr')}, ${id('tn')}, ${id('ts')}, ${id('sshcr')}, ${id('bot')}, '[]', now(), now(), 'client',
       0, 0, 0 from ${rows(others)}`,
    `insert into edge_connection_records select '${accountId}', ${id('ec')}, ${id('edgtcp')}, 'h.example:1', null, null, 'gw_000000000000000000000000001', null, ${id('ts')}, ${id('tn')},
       ${id('sshcr')}, now(), now(), 'closed', 0, 0 from ${rows(others)}`,
    `insert into reserved_addrs select ${id('ac')}, ${id('ra')}, 1, now(), '', '', 'a.h' || n || '.net:1', '' from ${rows(others)}`,
    `insert into reserved_domains select ${id('ac')}, ${id('rd')}, 1, now(), '', '', '*.d' || n || '.net', '', '' from ${rows(others)}`,
    `insert into reserved_addrs select '${accountId}', ${id('ra')}, 1, now(), '', '', 'own' || n || '.example:1', '' from ${rows(own)}`,
    `insert into reserved_domains select '${accountId}', ${id('rd')}, 1, now(), '', '', 'own' || n || '.example', '', '' from ${rows(own)}`,
    `insert into resting_names select 'r' || n || '.net', ${id('ac')}, now() + interval '1 hour' from ${rows(others)}`,
    `insert into resting_names select 'r' || n || '.own.net', '${accountId}', now() + interval '1 hour' from ${rows(own)}`,
    `insert into events select made.*, event_leaf_hash(account_id, position, stream_id, 1, event_id, type, data, metadata, at, recorded_at)
     from (select '${accountId}' as account_id, h.size + n - ${from} + 1 as position, ${id('sshcr')} as stream_id, 1 as stream_version, gen_random_uuid() as event_id, 'ssh_credential_created.v1' as type,
       json_build_object('description', '', 'metadata', '', 'public_key', 'key', 'acl', '{}'::text[], 'owner_id', 'bot_1', 'key_type',
         'ssh-ed25519', 'key_bits', 256, 'key_blob', 'blob', 'fingerprint', 'SHA256:' || n, 'exclusive', true)::text as data,
       '{"actor":"system"}' as metadata, now() as at, h.recorded_at + (n - ${from} + 1) * interval '1 microsecond' as recorded_at
       from log_heads h, ${rows(added)} where h.account_id = '${accountId}') made`,
    `update log_heads set size = size + ${added}, recorded_at = recorded_at + ${added} * interval '1 microsecond'
       where account_id = '${accountId}'`,
  ]) {
    await service.pool.query(statement);
  }
}

async function callEveryRoute(walk: Walk, times: number): Promise<void> {
  for (const route of Object.keys(SAMPLES)) {
    for (let n = 0; n < times; n += 1) {
      const { call } = await prepareSample(walk, route);
      expect([200, 201, 204]).toContain((await call(callerOf(walk, route))).status);
    }
  }
}

/** Lists and filters that have statements of their own, each of few: the loaded credentials have different owners and no expiry. */
const READS = [
  '/ssh_credentials?owner_id=none',
  `/ssh_credentials?fingerprint=SHA256:${'A'.repeat(43)}`,
  '/ssh_credentials?expiring_before=2100-01-01T00:00:00Z',
  '/ssh_credentials?owner_id=none&expiring_before=2100-01-01T00:00:00Z',
  '/ssh_credentials?owner_id=none&as_of=1',
  `/ssh_credentials?fingerprint=SHA256:${'A'.repeat(43)}&as_of=1`,
  '/edges/tcp?as_of=1',
  '/events?type=api_key_expiry_changed.v1',
  '/events?actor=none',
  `/events?stream=sshcr_${'0'.repeat(27)}`,
  `/bind_decisions?credential_id=sshcr_${'0'.repeat(27)}`,
  '/bind_decisions?gateway_name=none',
  '/ssh_credentials?online=true&limit=5',
  '/ssh_credentials?online=false&limit=5',
  '/ssh_credentials?last_seen_before=2020-01-01T00:00:00Z&limit=5',
  `/tunnel_sessions?credential_id=sshcr_${'0'.repeat(27)}`,
  '/tunnel_sessions?owner_id=none',
  '/tunnels?owner_id=none',
  `/tunnel_session_records?credential_id=sshcr_${'0'.repeat(27)}`,
  '/tunnel_session_records?ended_after=2030-01-01T00:00:00Z',
  `/edge_connection_records?credential_id=sshcr_${'0'.repeat(27)}`,
  `/edge_connection_records?edge_id=edgtcp_${'0'.repeat(27)}`,
];

let reserved = 0;
/** What the streams of edges read when an address, a host or a wildcard is reserved where edges of others are few. */
async function followReservations({ service, admin: { client } }: Walk): Promise<void> {
  reserved += 1;
  const name = `plans-${reserved}.example`;
  await client.post('/edges/tcp', { hostports: [`a.${name}:1`, `b.${name}:1`, `b.${name}:2`] });
  const [tail, changes] = [
    new LogTail(service.pool),
    new EdgeChanges(new LogTail(service.pool), service.pool, () => undefined),
  ];
  const { watermark } = await tail.since(undefined);
  await client.post('/reserved_addrs', { addr: `a.${name}:1` });
  for (const domain of [`b.${name}`, `*.${name}`]) await client.post('/reserved_domains', { domain });
  const { rows = [], watermark: next } = await tail.since(watermark);
  const changed = await changes.changedBy(rows, { since: watermark.now, until: next.now });
  expect(changed?.map(({ hostports }) => hostports[0]).sort()).toEqual([`a.${name}:1`, `b.${name}:1`, `b.${name}:2`]);
}

/** Of others, of nobody, under and over what others have, and at rest. */
const TARGETS: readonly BindTarget[] = [
  ...[1_000_001, 1_000_002].flatMap((n): BindTarget[] => [
    { kind: 'address', host: `a.h${n}.net`, port: 1 },
    { kind: 'address', host: `x.d${n}.net`, port: 1 },
    { kind: 'domain', name: `x.d${n}.net` },
    { kind: 'domain', name: `*.h${n}.net` },
    { kind: 'domain', name: `r${n}.net` },
  ]),
  { kind: 'address', host: 'free.example', port: 0 },
  { kind: 'domain', name: 'free.example' },
];

async function readFurther(walk: Walk, member: TestPrincipal, times: number): Promise<void> {
  const { service, admin } = walk;
  const policy = { addressPools: [POOL], reservationRestMs: 60_000, maxReservations: 100, unreservableHosts: [] };
  const names = new ReservedNames(service.pool, policy);
  const users = new OidcUsers(service.pool, undefined as never, admin.accountId);
  for (let n = 0; n < times; n += 1) {
    await followReservations(walk);
    for (const path of READS) expect([path, (await admin.client.get(path)).status]).toEqual([path, 200]);
    expect((await member.client.get('/api_keys')).status).toBe(200);
    expect((await users.find('nobody@example.test')).user).toBeUndefined();
    for (const target of TARGETS) await names.read([target]);
    await names.read(TARGETS);
    expect((await admin.client.post('/reserved_addrs', {})).status).toBe(201);
  }
}

/** Statements that store rows of another account than that of $1, if their JSON says so. */
async function storedByJson(): Promise<string[]> {
  const { rows } = await service.pool.query(
    `select name from pg_prepared_statements where name like 'append_%' and statement ~ 'select [a-z]+\\.account_id'`,
  );
  return rows.map(({ name }) => name);
}

/** What was read, by table or index. Backends report it when they end. */
type Counts = ReadonlyMap<string, number>;

const SCANNED_ROWS =
  'select relname as name, seq_tup_read::float8 as n from pg_stat_user_tables where seq_tup_read > 0';
/** Of a bitmap too, and of what a filter leaves out afterwards. */
const READ_ENTRIES =
  'select indexrelname as name, idx_tup_read::float8 as n from pg_stat_user_indexes where idx_tup_read > 0';

const counted = (...queries: readonly string[]): Promise<Counts[]> =>
  inDatabase(service.databaseUrl, async (client) => {
    const counts: Counts[] = [];
    for (const query of queries) {
      const { rows } = await client.query<{ name: string; n: number }>(query);
      counts.push(new Map(rows.map(({ name, n }) => [name, n])));
    }
    return counts;
  });

/** Those beyond what may be read in so many seconds. */
const beyond = (counts: Counts, max: number, seconds: number): [name: string, read: number][] =>
  [...counts].filter(([name, n]) => {
    const sealed = SEALED.test(name) ? SEALED_EACH_SECOND * seconds : 0;
    const leaves = name === LEAVES ? CREDENTIALS + OTHERS : 0;
    return n > max + sealed + leaves;
  });

interface Prepared {
  readonly name: string;
  readonly statement: string;
  readonly parameters: number | null;
}

async function preparedIn(pool: pg.Pool): Promise<readonly Prepared[]> {
  const text = 'select name, statement, array_length(parameter_types, 1) as parameters from pg_prepared_statements';
  return (await pool.query<Prepared>(text)).rows;
}

async function planOf(connection: Pick<pg.ClientBase, 'query'>, { name, parameters }: Prepared): Promise<string> {
  const nulls = parameters === null ? '' : `(${Array.from({ length: parameters }, () => 'null').join()})`;
  const { rows } = await connection.query(`explain execute "${name}"${nulls}`);
  return [name, ...rows.map((line) => line['QUERY PLAN'])].join('\n');
}

const pools = (): readonly pg.Pool[] => [service.pool, service.app.database.auditReadPool];
const allPrepared = async () => (await Promise.all(pools().map(preparedIn))).flat();

/** The plans of all prepared statements, for the message of a failure. */
async function allPlans(): Promise<string[]> {
  const plans: string[] = [];
  for (const pool of pools()) {
    for (const one of await preparedIn(pool)) plans.push(await planOf(pool, one));
  }
  return plans;
}

/** The plans with several processes that a connection made now would have. To start a process takes longer than any look-up. */
const plansInParallel = (): Promise<string[]> =>
  inDatabase(service.databaseUrl, async (client) => {
    const plans: string[] = [];
    for (const one of await allPrepared()) {
      await client.query(`prepare "${one.name}" as ${one.statement}`);
      plans.push(await planOf(client, one));
      await client.query(`deallocate "${one.name}"`);
    }
    return plans.filter((plan) => plan.includes('Gather'));
  });

interface State {
  readonly rowsBefore: number;
  readonly isAnalyzed: boolean;
  /** Whether the tables grow after statements are prepared, before that, or have grown. */
  readonly grows: 'later' | 'first' | 'no more';
}

const statesOf = (rows: number): readonly [name: string, states: readonly State[]][] => [
  ['while the tables are empty', [{ rowsBefore: 0, isAnalyzed: false, grows: 'later' }]],
  [`while the tables have ${rows} rows and are analyzed`, [{ rowsBefore: rows, isAnalyzed: true, grows: 'later' }]],
  [
    'when the tables have grown, before and after they are analyzed',
    [
      { rowsBefore: 0, isAnalyzed: false, grows: 'first' },
      { rowsBefore: 0, isAnalyzed: true, grows: 'no more' },
    ],
  ],
];

const SETTINGS: Partial<Config> = {
  ...GATEWAY,
  ...CHECKPOINTS,
  authFailuresPerMinute: 0,
  strict: true,
  databasePoolSize: 1,
  auditReadConnections: 1,
  addressPools: [POOL],
};

/** Calls every route, and counts what that reads of the grown tables. */
async function readByRoutes({ rowsBefore, isAnalyzed, grows }: State) {
  for (const Task of IN_THE_BACKGROUND) service.app.nest.get(Task).onModuleDestroy();
  const { rows: tables } = await service.pool.query(
    `select relname as name from pg_class where relnamespace = 'public'::regnamespace and relkind = 'r'`,
  );
  for (const { name } of tables) await service.pool.query(`alter table ${name} set (autovacuum_enabled = off)`);
  const { rows } = await service.pool.query('select account_id from accounts');
  const accountId = rows[0].account_id;
  const grow = () => load(accountId, 1_000_000, CREDENTIALS, OTHERS);
  const walk = { service, admin: await addUser(service, 'admin') };
  const member = await addUser(service, 'member');
  const callAll = async (times: number): Promise<void> => {
    await callEveryRoute(walk, times);
    await readFurther(walk, member, times);
  };
  if (rowsBefore > 0) await load(accountId, 1, rowsBefore, rowsBefore);
  if (grows === 'first') await grow();
  if (isAnalyzed) await service.pool.query('analyze');
  await callAll(CALLS_BEFORE);
  if (grows === 'later') await grow();
  await service.pool.query('select pg_stat_force_next_flush()');
  await service.pool.query('select pg_stat_reset()');
  const begun = performance.now();
  await callAll(CALLS_AFTER);
  const found = { byJson: await storedByJson(), inParallel: await plansInParallel() };
  const plans = await allPlans();
  await service.app.close();
  const seconds = (performance.now() - begun) / 1000;
  const [scanned = new Map(), read = new Map()] = await counted(SCANNED_ROWS, READ_ENTRIES);
  const costly = [...beyond(scanned, SCANNED, seconds), ...beyond(read, ENTRIES, seconds)];
  return { ...found, costly, guilty: plans.filter((plan) => costly.some(([name]) => plan.includes(` ${name}`))) };
}

const LARGE = 30_000;

const manyDecisions = (accountId: string, gateway: string) =>
  service.pool.query(
    `insert into bind_decisions (account_id, id, decided_at, credential_id, credential_version, owner_id, fingerprint,
       target, allowed, reason, gateway, gateway_name)
     select $1, 'bd_' || lpad(n::text, 27, '0'), now(), 'sshcr_1', 1, 'bot_1', 'SHA256:x',
       '{"domain":"a.example"}', true, 'permitted', 'g', $2 from generate_series(1, $3::int) n`,
    [accountId, gateway, LARGE],
  );

/** Each adds the rows of one that has many, and returns a reader of a page with few. */
const PAGES: Record<string, { readonly path: string; fill(): Promise<ApiClient> }> = {
  'api_keys of a member': {
    path: '/api_keys',
    async fill() {
      // To the statistics every key has the same owner.
      await service.pool.query(
        `insert into api_keys select account_id, 'ak_' || lpad(n::text, 27, '0'), 1, now(), owner_id, '', '', n::text
         from api_keys, generate_series(1, $1::int) n`,
        [LARGE],
      );
      await service.pool.query('analyze');
      return (await addUser(service, 'member')).client;
    },
  },
  'bind_decisions of an account': {
    path: '/bind_decisions',
    async fill() {
      await manyDecisions('ac_large', 'busy');
      return service.admin;
    },
  },
  'bind_decisions of a gateway': {
    path: '/bind_decisions?gateway_name=rare',
    async fill() {
      await manyDecisions((await addUser(service, 'admin')).accountId, 'busy');
      return service.admin;
    },
  },
  'ssh_credentials of an account': {
    path: '/ssh_credentials',
    async fill() {
      const { client } = await addAccount(service);
      await addManyCredentials(service.pool, await addBot(service, client), LARGE);
      return service.admin;
    },
  },
  'ssh_credentials of an owner': {
    path: '/ssh_credentials?owner_id=rare',
    async fill() {
      await addManyCredentials(service.pool, await addBot(service), LARGE);
      return service.admin;
    },
  },
  'ssh_credentials that expire': {
    path: '/ssh_credentials?expiring_before=2100-01-01T00:00:00Z',
    async fill() {
      await addManyCredentials(service.pool, await addBot(service), LARGE);
      return service.admin;
    },
  },
  'reserved_addrs of an account': {
    path: '/reserved_addrs',
    async fill() {
      await service.pool.query(
        `insert into reserved_addrs select 'ac_large', 'ra_' || n, 1, now(), '', '', 'a.example:' || n, '' from generate_series(1, $1::int) n`,
        [LARGE],
      );
      return service.admin;
    },
  },
};
/** Those whose rows are of different tables. */
const TOGETHER = [
  [
    'api_keys of a member',
    'bind_decisions of an account',
    'ssh_credentials of an account',
    'reserved_addrs of an account',
  ],
  ['bind_decisions of a gateway', 'ssh_credentials of an owner'],
  ['ssh_credentials that expire'],
].map((names) => Object.entries(PAGES).filter(([name]) => names.includes(name)));

/**
 * PostgreSQL plans differently from version to version, so each server has a file. `rows`: how many the tables have
 * before they grow.
 */
export function provePlans(start: Start, rows: number): void {
  afterEach(() => service.stop());

  describe('statements that are prepared', () => {
    it.each(statesOf(rows))(
      '%s read few rows and few entries of an index, and run in one process, by any statement of any route',
      async (_, states) => {
        const first = await start(SETTINGS);
        service = first;
        for (const state of states) {
          if (state.grows === 'no more') service = { ...(await startCopy(first, SETTINGS)), stop: first.stop };
          const { costly, guilty, ...found } = await readByRoutes(state);
          expect({ state, costly, guilty }).toEqual({ state, costly: [], guilty: [] });
          expect(found).toEqual({ byJson: [], inParallel: [] });
        }
      },
      300_000,
    );
  });

  describe('a page that has few rows reads none of the many others:', () => {
    it.each(TOGETHER.map((pages) => [pages.map(([name]) => name).join(', '), pages] as const))(
      '%s',
      async (_, pages) => {
        service = await start();
        const tokens: string[] = [];
        for (const [, page] of pages) tokens.push((await page.fill()).token ?? '');
        await service.pool.query('analyze');
        await service.admin.post('/ssh_credentials', {
          public_key: newPublicKey(),
          expires_at: '2099-01-01T00:00:00Z',
        });
        const { databaseUrl } = service;
        await service.app.close();
        const sql = new pg.Client(databaseUrl);
        await sql.connect();
        const rowsRead = async (): Promise<number[]> => {
          const counts: number[] = [];
          for (const [name] of pages) counts.push(await readOnceAlone(sql, rowsFetched(name.replace(/ .*/, ''))));
          return counts;
        };
        const before = await rowsRead();
        const copy = await startCopy(service);
        for (const [n, [, { path }]] of pages.entries()) {
          expect((await copy.admin.as(tokens[n] ?? '').get(path)).status).toBe(200);
        }
        await copy.stop();
        const read = (await rowsRead()).map((count, n) => [pages[n]?.[0], count - (before[n] ?? 0)]);
        await sql.end();
        expect(read.filter(([, count]) => Number(count) >= 100)).toEqual([]);
      },
    );
  });
}
