import { readdirSync, readFileSync } from 'node:fs';
import { afterAll, beforeAll, expect, it } from '@jest/globals';
import { MAX_IP_RULES } from '../src/rules/index.js';
import type { Answer } from './support/api-client.js';
import { REPOSITORY } from './support/documents.js';
import { repaired } from './support/repaired.js';
import { GATEWAY, type Service, startCopy, startService } from './support/service.js';
import { ReportingGateway } from './support/session-reports.js';

const SETTINGS = { ...GATEWAY, maxReservations: 20 };
const MAX_GATEWAYS_OF_TOKEN = 100;
/** How many are left before creates race for them, and how many race. */
const ROOM = 5;
const CREATES = 40;

let service: Service;
let copy: Service;
beforeAll(async () => {
  service = await startService(SETTINGS);
  copy = await startCopy(service, SETTINGS);
});
afterAll(async () => {
  await copy.stop();
  await service.stop();
});

interface Maximum {
  readonly most: number;
  /** Makes all but ROOM. Returns what makes one more at an instance, the nth. */
  fill(count: number): Promise<(at: Service, n: number) => Promise<Answer>>;
  /** The query for how many there are. */
  readonly count: string;
  readonly refusal: { readonly status: number; readonly body: object };
}

const refusal = (status: number, msg: string) => ({ status, body: { msg: expect.stringContaining(msg) } });

async function makeEach(count: number, make: (at: Service, n: number) => Promise<Answer>): Promise<typeof make> {
  for (let n = 0; n < count; n += 1) expect((await make(service, n)).status).toBeLessThan(300);
  return make;
}

/** Those that the database stores one by one. What says why another one needs none of this is below. */
const STORED: Readonly<Record<string, Maximum>> = {
  'addresses and domains that an account has reserved': {
    most: SETTINGS.maxReservations,
    count: 'select (select count(*)::int from reserved_addrs) + (select count(*)::int from reserved_domains) as n',
    refusal: refusal(409, 'The maximum (MAX_RESERVATIONS) is 20.'),
    fill: (count) =>
      makeEach(count, ({ admin }, n) =>
        n % 2 === 0
          ? admin.post('/reserved_addrs', { addr: `name-${n}.example.com:1` })
          : admin.post('/reserved_domains', { domain: `name-${n}.example.com` }),
      ),
  },
  'rules of an IP policy': {
    most: MAX_IP_RULES,
    count: 'select count(*)::int as n from ip_policy_rules',
    refusal: refusal(409, `at least ${MAX_IP_RULES} rules`),
    fill: async (count) => {
      const { id } = (await service.admin.post('/ip_policies', {})).body;
      const text = `insert into ip_policy_rules select p.account_id, 'ipr_' || n, 1, now(), '', '', p.id, '2001:db8::' || to_hex(n) || '/128', 'allow'
        from ip_policies p, generate_series(1, $1) n`;
      await service.pool.query(text, [count]);
      return ({ admin }, n) =>
        admin.post('/ip_policy_rules', { ip_policy_id: id, cidr: `192.0.2.${n % 256}`, action: 'allow' });
    },
  },
  'gateways of a token': {
    most: MAX_GATEWAYS_OF_TOKEN,
    count: 'select count(*)::int as n from gateway_runs where lost_at is null',
    refusal: refusal(429, 'which is the maximum'),
    fill: (count) => makeEach(count, ({ gateway }) => new ReportingGateway(gateway).whole()),
  },
};

it.each(Object.entries(STORED))(
  'of %s creates that race at two instances make the maximum, and no more',
  async (_, one) => {
    const make = await one.fill(one.most - ROOM);
    const answers = await Promise.all(
      Array.from({ length: CREATES }, (_, n) => make((n >> 1) % 2 === 0 ? service : copy, one.most + n)),
    );
    const refused = answers.filter(({ status }) => status >= 300);
    for (const answer of refused) expect(answer).toMatchObject(one.refusal);
    expect(refused).toHaveLength(CREATES - ROOM);
    expect((await service.pool.query(one.count)).rows).toEqual([{ n: one.most }]);
  },
);

it('neither a repair nor a change of what there is counts, when the maximum is smaller by now', async () => {
  const smaller = await startCopy(service, { ...SETTINGS, maxReservations: 1 });
  const before = (await service.pool.query('select * from reserved_addrs order by id')).rows;
  const client = await service.pool.connect();
  await client.query(`begin; set local tunnel_access.repair = 'on'; delete from reserved_addrs; commit`);
  client.release();
  await repaired(smaller.app.database);
  expect((await service.pool.query('select * from reserved_addrs order by id')).rows).toEqual(before);
  const [{ id }] = before;
  expect((await smaller.admin.patch(`/reserved_addrs/${id}`, { description: 'x' })).status).toBe(200);
  await smaller.stop();
});

/** Why creates that race cannot exceed any other maximum of a count, or may. */
const OTHERS: Readonly<Record<string, readonly string[]>> = {
  'a trigger counts after the insertion, or a lock lets one create after the other: above': [
    'MAX_IP_RULES',
    'MAX_GATEWAYS_OF_TOKEN',
  ],
  'the uses of a key are its state, so each append names the version that it counted': ['MAX_USES'],
  'it bounds what a token of the operator reports, and refuses no create: reports at the same moment may exceed it, by 1,000 each':
    ['MAX_SESSIONS_OF_TOKEN', 'MAX_TUNNELS_OF_GATEWAY'],
  'one body has all of it, so one event does too': [
    ...[
      'MAX_ASKED_HOSTPORTS',
      'MAX_HOSTPORTS',
      'MAX_IP_POLICIES',
      'MAX_LABELS',
      'MAX_HOST_KEYS',
      'MAX_ITEMS',
      'MAX_TARGETS',
      'MAX_NAMES',
    ],
    ...['MAX_RECHECKED', 'MAX_COMMAS', 'MAX_DEPTH', 'MAX_RULES', 'MAX_CIDRS', 'MAX_ALIASES', 'MAX_LABELS_OF_WILDCARD'],
  ],
  'one process counts it, without a wait before it is taken': [
    ...['MAX_STREAMS', 'MAX_STREAMS_OF_USER', 'MAX_FOLLOWERS_PER_ACCOUNT', 'MAX_READERS_PER_ACCOUNT', 'MAX_SOURCES'],
  ],
  'it cuts what is read, answered or kept in memory, and refuses nothing': [
    ...['MAX_BATCH_DECISIONS', 'MAX_CACHED_NETWORKS', 'MAX_CACHED_RULES', 'MAX_CHANGES', 'MAX_CHANGES_IN_EVENT'],
    'MAX_COLUMNS',
    ...['MAX_CREDENTIALS_READ', 'MAX_EDGES_OF_A_HOSTPORT', 'MAX_GRANTS_PER_KEY', 'MAX_KEPT', 'MAX_OWN'],
    ...['MAX_HOSTPORTS_IN_EVENT', 'MAX_PAGE_EVENTS', 'MAX_PAGE_ITEMS', 'MAX_PERMIT_LISTENS', 'MAX_REMOVED_AT_ONCE'],
    'MAX_SCANNED',
    ...['MAX_EVENTS_WITH_CHANGES', 'MAX_RULES_PER_KEY', 'MAX_SHOWN', 'MAX_SMALL_ACL_RULES'],
    ...['MAX_TUNNELS_OF_GROUP', 'MAX_TUNNELS_OF_RECORD', 'MAX_TUNNELS_OF_SESSION', 'MAX_WORDS'],
  ],
  'it is of a setting, a number, a text or a repetition': [
    ...['MAX_POOLS', 'MAX_PORT', 'MAX_PORTS', 'MAX_TEXT', 'MAX_ATTEMPTS', 'MAX_EDITS'],
  ],
};

it('each maximum of a count is in this list', () => {
  const folders = ['src/api', 'src/rules/bind-rules'].flatMap((folder) =>
    readdirSync(REPOSITORY + folder, { recursive: true, encoding: 'utf8' }).map((file) => `${folder}/${file}`),
  );
  const files = [...folders, 'src/rules/edge-admission.ts'];
  const sources = files
    .filter((file) => /(?<!\.spec)\.ts$/.test(file))
    .map((file) => readFileSync(REPOSITORY + file, 'utf8'));
  const found = sources.flatMap((source) => [...source.matchAll(/^(?:export )?const (MAX_\w+) = [\d_]+;/gm)]);
  const counts = found
    .map(([, name = '']) => name)
    .filter((name) => !/_(BYTES|MS|CHARACTERS|OCTETS)\b|BYTES_/.test(name));
  expect([...new Set(counts)].sort()).toEqual(Object.values(OTHERS).flat().sort());
});
