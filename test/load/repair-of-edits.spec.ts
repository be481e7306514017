import { setTimeout as sleep } from 'node:timers/promises';
import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { READ_MODELS } from '../../src/api/read-models.js';
import type { Difference } from '../../src/event-log/fold/row-comparison.js';
import type { ApiClient } from '../support/api-client.js';
import { provenOf } from '../support/found.js';
import { newPublicKey } from '../support/keys.js';
import { addAccount, type TestPrincipal } from '../support/principals.js';
import { repaired } from '../support/repaired.js';
import { type Service, startService } from '../support/service.js';

let service: Service;
let ours: Resources;
let theirs: Resources;
let load: ReturnType<typeof startLoad>;
beforeAll(async () => {
  // In strict mode hostports and keys are exclusive, which makes their unique indexes bind.
  service = await startService({ strict: true });
  const accounts = [await addAccount(service), await addAccount(service)];
  [ours, theirs] = (await Promise.all(accounts.map(makeResources))) as [Resources, Resources];
  load = startLoad(accounts.map(({ client }) => client));
});
afterAll(() => service.stop());

/** Resources that the test edits and no client touches: by table, the ids of two of them. */
interface Resources {
  readonly account: string;
  readonly ids: Readonly<Record<string, readonly [string, string]>>;
}

const made = async (client: ApiClient, path: string, body: object): Promise<string> => {
  const { status, body: answer } = await client.post(path, body);
  expect([path, status]).toEqual([path, 201]);
  return answer.id;
};

async function makeResources({ client, accountId }: TestPrincipal): Promise<Resources> {
  const two = async (path: string, body: (n: number) => object): Promise<readonly [string, string]> => [
    await made(client, path, body(1)),
    await made(client, path, body(2)),
  ];
  const users = await two('/users', (n) => ({
    email: `edited-${n}-${accountId.slice(3)}@example.test`,
    role: 'member',
  }));
  const policies = await two('/ip_policies', (n) => ({ description: `policy ${n}` }));
  const edges = await two('/edges/tcp', (n) => ({ hostports: [`${accountId}-${n}:1`, `${accountId}-${n}:2`] }));
  const [owner] = users;
  const ids = {
    principals: users,
    bots: await two('/bot_users', (n) => ({ name: `edited ${n}` })),
    api_keys: await two('/api_keys', () => ({ owner_id: owner })),
    owned: await two('/api_keys', () => ({ owner_id: users[1] })),
    ssh_credentials: await two('/ssh_credentials', () => ({ owner_id: owner, public_key: newPublicKey() })),
    ip_policies: policies,
    ip_policy_rules: await two('/ip_policy_rules', (n) => ({
      ip_policy_id: policies[0],
      cidr: `10.0.${n}.0/24`,
      action: 'allow',
    })),
    tunnel_groups: await two('/backends/tunnel_group', (n) => ({ labels: { n: `${n}` } })),
    reserved_addrs: await two('/reserved_addrs', (n) => ({ addr: `${accountId}.example.com:${n}` })),
    reserved_domains: await two('/reserved_domains', (n) => ({ domain: `${accountId}.example-${n}.com` })),
    enrollment_keys: await two('/enrollment_keys', () => ({ acl: ['bind:{name}.example.com'], max_uses: 1 })),
    tcp_edges: edges,
    tcp_edge_hostports: edges,
    accounts: [accountId, accountId] as const,
  };
  return { account: accountId, ids };
}

const CLIENTS = 32;
/** Each proof reads all that they have written, and waits for the same cores. */
const PAUSE_MS = 4_000;

function* numbers(): Generator<number, never> {
  for (let n = 1; ; n += 1) yield n;
}

/** Clients that change things of every kind at once. `stop` resolves with their rounds, or throws the first failure. */
function startLoad(clients: readonly ApiClient[]): { stop: () => Promise<number> } {
  let isOver = false;
  const names = numbers();
  const running = Array.from({ length: CLIENTS }, async (_, n) => {
    // Apart, so that some of them write at any moment.
    await sleep((n * PAUSE_MS) / CLIENTS);
    let rounds = 0;
    for (; !isOver; rounds += 1) {
      await changeEverything(clients[n % clients.length] as ApiClient, `${names.next().value}`);
      await sleep(PAUSE_MS);
    }
    return rounds;
  });
  const all = Promise.all(running);
  all.catch(() => undefined);
  return {
    stop: async () => {
      isOver = true;
      return (await all).reduce((sum, rounds) => sum + rounds, 0);
    },
  };
}

async function changeEverything(client: ApiClient, name: string): Promise<void> {
  const bot = await made(client, '/bot_users', { name });
  const policy = await made(client, '/ip_policies', {});
  const paths = [
    `/api_keys/${await made(client, '/api_keys', { owner_id: bot })}`,
    `/ssh_credentials/${await made(client, '/ssh_credentials', { owner_id: bot, public_key: newPublicKey() })}`,
    `/ip_policy_rules/${await made(client, '/ip_policy_rules', { ip_policy_id: policy, cidr: '192.0.2.0/24', action: 'deny' })}`,
    `/edges/tcp/${await made(client, '/edges/tcp', { hostports: [`load-${name}:1`] })}`,
    `/backends/tunnel_group/${await made(client, '/backends/tunnel_group', { labels: { name } })}`,
    `/ip_policies/${policy}`,
    `/reserved_addrs/${await made(client, '/reserved_addrs', { addr: `load-${name}.example.com:1` })}`,
    `/reserved_domains/${await made(client, '/reserved_domains', { domain: `load-${name}.example.net` })}`,
  ];
  const key = await made(client, '/enrollment_keys', { acl: ['bind:{name}.example.com'], max_uses: 1 });
  for (const path of paths) {
    const { status, body } = await client.patch(path, { description: 'changed' });
    expect([path, status, body.description]).toEqual([path, 200, 'changed']);
  }
  for (const path of [...paths, `/enrollment_keys/${key}`, `/bot_users/${bot}`])
    expect([path, (await client.delete(path)).status]).toEqual([path, 204]);
}

const TABLES = READ_MODELS.flatMap((model) => model.tables);
const streamOf = new Map(TABLES.map(({ name, primaryKey }) => [name, primaryKey[1]]));

type Statement = readonly [text: string, values: readonly unknown[]];

/** Runs statements as one who may write the tables, without the guards of what belongs together. */
async function edit(...statements: readonly Statement[]): Promise<void> {
  const client = await service.pool.connect();
  try {
    await client.query(`begin; set local tunnel_access.repair = 'on'`);
    for (const [text, values] of statements) await client.query(text, [...values]);
    await client.query('commit');
  } finally {
    await client.query('rollback');
    client.release();
  }
}

/** Copies the row of a stream with other values. */
const copyOf = (table: string, id: string, changed: object): Statement => {
  const columns = TABLES.find(({ name }) => name === table)?.columns.join(', ');
  const row = `select to_jsonb(t) || $2::jsonb from ${table} t where ${streamOf.get(table)} = $1 limit 1`;
  const text = `insert into ${table} (${columns}) select ${columns} from jsonb_populate_record(null::${table}, (${row}))`;
  return [text, [id, JSON.stringify(changed)]];
};

/** Each of these differences was found by the proof, and after a repair there is none. */
async function expectMended(...expected: readonly Partial<Difference>[]): Promise<void> {
  const { differences } = await provenOf(service.app.database);
  for (const one of expected) expect(differences).toContainEqual(expect.objectContaining(one));
  const { found, longestHeldMs } = await repaired(service.app.database);
  for (const one of expected) expect(found).toContainEqual(expect.objectContaining(one));
  expect(longestHeldMs).toBeGreaterThan(0);
  expect((await provenOf(service.app.database)).differences).toEqual([]);
}

const there = { field: '(row)', live: 'there', log: 'not there' };
const lost = { field: '(row)', live: 'not there', log: 'there' };

/** By table: a changed field, and the values that a copy of a row must have so that it may stand beside it. */
const EDITS: Readonly<Record<string, readonly [change: string, field: string, apart: Record<string, string>]>> = {
  accounts: [`name = 'Mine'`, 'name', {}],
  principals: [`role = 'admin'`, 'role', { email: 'apart@example.test' }],
  api_keys: [`expires_at = now()`, 'expires_at', { token_hash: 'apart' }],
  ssh_credentials: [`acl = '{bind:by.hand}'`, 'acl', { fingerprint: 'apart' }],
  ip_policies: [`metadata = 'by hand'`, 'metadata', {}],
  ip_policy_rules: [`action = 'deny'`, 'action', { cidr: '10.9.0.0/16' }],
  tunnel_groups: [`labels = '{"a":"b"}'`, 'labels', {}],
  reserved_addrs: [`region = 'by hand'`, 'region', { addr: 'apart:1' }],
  reserved_domains: [`text = 'by hand'`, 'text', { domain: 'apart.example.com' }],
  enrollment_keys: ['max_uses = 7', 'max_uses', { token_hash: 'apart' }],
  tcp_edges: [`backend = '{"enabled":false}'`, 'backend', {}],
  tcp_edge_hostports: [`listed_at = now()`, 'listed_at', { hostport: 'apart:1' }],
};
const tables = Object.entries(EDITS).map(([table, [change, field, apart]]) => ({ table, change, field, apart }));
const where = (table: string): string => `where ${streamOf.get(table)} = $1`;
const idsOf = (table: string): readonly [string, string] => ours.ids[table] as readonly [string, string];

describe('under 32 writers, in each of the twelve tables, the proof names and a repair mends', () => {
  it('a field that was changed', async () => {
    const changes = tables.map(
      ({ table, change }): Statement => [`update ${table} set ${change} ${where(table)}`, [idsOf(table)[0]]],
    );
    await edit(...changes);
    await expectMended(...tables.map(({ table, field }) => ({ table, account: ours.account, field })));
  });

  it('a row that was lost', async () => {
    await edit(...tables.map(({ table }): Statement => [`delete from ${table} ${where(table)}`, [idsOf(table)[0]]]));
    await expectMended(...tables.map(({ table }) => ({ table, account: ours.account, ...lost })));
  });

  it('a row that was added, in its account and in accounts without a log, also after all others', async () => {
    const accounts = [ours.account, 'ac_000none', 'ac_zznone'];
    const added = accounts.flatMap((account, n) =>
      tables.map(({ table, apart }) => {
        const id = `${idsOf(table)[0].slice(0, -3)}ne${n}`;
        const changed = Object.fromEntries(Object.entries(apart).map(([field, value]) => [field, `${value}${n}`]));
        return copyOf(table, idsOf(table)[0], { ...changed, account_id: account, [streamOf.get(table) ?? '']: id });
      }),
    );
    await edit(...added);
    await expectMended(...accounts.flatMap((account) => tables.map(({ table }) => ({ table, account, ...there }))));
  });

  it('a row with the id of a stream of another prefix', async () => {
    const prefixes = ['sshcr', 'ac', 'zz', 'edgtcp'];
    const strange = ({ table, apart }: (typeof tables)[number], n: number) => {
      const [id] = idsOf(table);
      const prefix = prefixes[table.startsWith('tcp_') ? 0 : table.startsWith('ssh') ? 1 : n % 4];
      const other = `${prefix}${id.slice(id.lastIndexOf('_'))}`;
      return { table, other: table === 'ip_policies' ? idsOf('principals')[0] : other, apart };
    };
    const all = tables.map(strange);
    await edit(
      ...all.map(({ table, other, apart }) =>
        copyOf(table, idsOf(table)[0], { ...apart, [streamOf.get(table) ?? '']: other }),
      ),
    );
    await expectMended(
      ...all.map(({ table, other }) => ({ table, key: expect.stringContaining(other) as never, ...there })),
    );
  });

  it('a row that was moved to another account, and one that was moved to an account without a log', async () => {
    // An account has one row, which is moved to the other account.
    const moves = tables.flatMap(({ table }) =>
      [...new Set(idsOf(table))].map((id, n) => ({ table, id, account: n === 0 ? theirs.account : 'ac_zznone' })),
    );
    await edit(
      ...moves.map(
        ({ table, id, account }): Statement => [`update ${table} set account_id = $2 ${where(table)}`, [id, account]],
      ),
    );
    await expectMended(
      ...moves.flatMap(({ table, id, account }) => {
        const key = expect.stringContaining(id) as never;
        return [
          { table, account, key, ...there },
          { table, account: ours.account, key, ...lost },
        ];
      }),
    );
  });
});

describe('under 32 writers the proof names and a repair mends', () => {
  /** By table: a column of a unique index, and two rows, of which one may be of another account. No row is here twice. */
  const UNIQUE = (): readonly [table: string, column: string, ids: readonly [string, string]][] => {
    const both = (table: string): [string, string] => [idsOf(table)[0], theirs.ids[table]?.[0] ?? ''];
    return [
      ['principals', 'email', idsOf('principals')],
      ['principals', 'name', idsOf('bots')],
      ['api_keys', 'token_hash', both('api_keys')],
      ['api_keys', 'token_hash', [theirs.ids.owned?.[0] ?? '', idsOf('owned')[0]]],
      ['ssh_credentials', 'fingerprint', idsOf('ssh_credentials')],
      ['ip_policy_rules', 'cidr', idsOf('ip_policy_rules')],
      ['reserved_addrs', 'addr', both('reserved_addrs')],
      ['reserved_domains', 'domain', [theirs.ids.reserved_domains?.[0] ?? '', idsOf('reserved_domains')[0]]],
    ];
  };
  const OLD = 'create temporary table old on commit drop as select null::text as id, null::text as value limit 0';
  const keep = (table: string, column: string, ids: readonly string[]): Statement => [
    `insert into old select id, ${column}::text from ${table} where id = any ($1)`,
    [ids],
  ];
  const set = (table: string, column: string, id: string, other: string): Statement => [
    `update ${table} set ${column} = (select value from old where id = $2) where id = $1`,
    [id, other],
  ];
  const vacate = (table: string, column: string, id: string): Statement => [
    `update ${table} set ${column} = $2 where id = $1`,
    [id, `none ${id}`],
  ];
  const differ = () => UNIQUE().flatMap(([table, field, ids]) => ids.map((key) => ({ table, key, field })));

  it('values of every unique index that the row of another stream has taken', async () => {
    const taken = UNIQUE().flatMap(([table, column, [robbed, thief]]) => [
      keep(table, column, [robbed]),
      vacate(table, column, robbed),
      set(table, column, thief, robbed),
    ]);
    await edit([OLD, []], ...taken);
    await expectMended(...differ());
  });

  it('values of every unique index that two streams have exchanged', async () => {
    const exchanged = UNIQUE().flatMap(([table, column, [one, other]]) => [
      keep(table, column, [one, other]),
      vacate(table, column, one),
      set(table, column, other, one),
      set(table, column, one, other),
    ]);
    await edit([OLD, []], ...exchanged);
    await expectMended(...differ());
  });

  it('an exclusive hostport that the edge of another account has taken, and one that was moved to another edge', async () => {
    const [first, second] = idsOf('tcp_edges');
    const [foreign] = theirs.ids.tcp_edges ?? [];
    const set = 'update tcp_edge_hostports set';
    const [taken, moved] = [1, 2].map((port) => `${ours.account.toLowerCase()}-1:${port}`);
    await edit(
      [
        `${set} edge_id = $2, account_id = $3 where edge_id = $1 and hostport = $4`,
        [first, foreign, theirs.account, taken],
      ],
      [`${set} edge_id = $2 where edge_id = $1 and hostport = $3`, [first, second, moved]],
    );
    const table = 'tcp_edge_hostports';
    await expectMended(
      { table, account: theirs.account, key: `${foreign} ${taken}`, ...there },
      { table, key: `${first} ${taken}`, ...lost },
      { table, key: `${second} ${moved}`, ...there },
      { table, key: `${first} ${moved}`, ...lost },
    );
  });

  it.each([
    ['a policy that is lost with its rules', true, true],
    ['rules without their policy', true, false],
    ['a policy without its rules', false, true],
  ])('%s', async (_, losesPolicy, losesRules) => {
    const [policy] = idsOf('ip_policies');
    const rules = losesRules ? idsOf('ip_policy_rules') : [];
    await edit(
      ['delete from ip_policy_rules where id = any ($1)', [rules]],
      ['delete from ip_policies where id = $1 and $2', [policy, losesPolicy]],
    );
    await expectMended(
      ...(losesPolicy ? [{ table: 'ip_policies', key: policy, ...lost }] : []),
      ...rules.map((key) => ({ table: 'ip_policy_rules', key, ...lost })),
    );
  });

  it('an owner that is marked deleted and keeps its rows', async () => {
    const [owner] = idsOf('principals');
    await edit(['update principals set deleted = true where id = $1', [owner]]);
    await expectMended({ table: 'principals', key: owner, field: 'deleted' });
    expect((await service.pool.query('select from pending_removals where owner_id = $1', [owner])).rowCount).toBe(0);
  });

  it('a lost row of an owner that the log has deleted, which starts no removal', async () => {
    const [, owner] = idsOf('principals');
    const [key = ''] = ours.ids.owned ?? [];
    await edit(DELETED(owner));
    await edit(['delete from principals where id = $1', [owner]], ['delete from api_keys where id = $1', [key]]);
    await expectMended({ table: 'principals', key: owner, ...lost }, { table: 'api_keys', key, ...lost });
    expect((await service.pool.query('select from pending_removals where owner_id = $1', [owner])).rowCount).toBe(0);
  });

  it('claims that were lost, miscounted and added', async () => {
    const [credential] = idsOf('ssh_credentials');
    const key = `'key:' || (select fingerprint from ssh_credentials where id = $1)`;
    const hostport = `hostport:${ours.account.toLowerCase()}-1:`;
    await edit(
      [`delete from claims where value = ${key}`, [credential]],
      ['update claims set holders = 7 where value = $1', [`${hostport}1`]],
      [`update claims set account_id = 'ac_000none' where value = $1`, [`${hostport}2`]],
    );
    const claims = { table: 'claims', field: 'holders' };
    await expectMended(
      { ...claims, key: `${hostport}1`, live: '7', log: '1' },
      { ...claims, key: `${hostport}2`, live: '1', log: 'NULL', account: 'ac_000none' },
      { ...claims, key: `${hostport}2`, live: 'NULL', log: '1', account: ours.account },
    );
  });

  it('rows of every table that are all lost, while two repairs run at once', async () => {
    const names = TABLES.filter(({ name }) => !['principals', 'api_keys'].includes(name)).map(({ name }) => name);
    await edit(
      ...names.map(
        (name): Statement => [
          `delete from ${name} where account_id = $1 and ${streamOf.get(name)} = any ($2)`,
          [ours.account, ours.ids[name] as never],
        ],
      ),
    );
    await Promise.all([repaired(service.app.database), repaired(service.app.database)]);
    expect((await provenOf(service.app.database)).differences).toEqual([]);
  });

  it('and no request of the writers has failed', async () => {
    expect(await load.stop()).toBeGreaterThan(CLIENTS);
  });
});

/** Writes that an owner was deleted into its log, and its row: as before its resources are removed. */
const DELETED = (owner: string): Statement => [
  `with head as (
     update log_heads h set size = h.size + 1, recorded_at = greatest(clock_timestamp(), h.recorded_at + interval '1 microsecond')
     from principals p where p.id = $1 and h.account_id = p.account_id returning h.account_id, h.size, h.recorded_at),
   event as (
     insert into events (account_id, position, stream_id, stream_version, event_id, type, data, metadata, occurred_at, recorded_at, leaf_hash)
     select account_id, size, $1, 2, gen_random_uuid(), 'user_deleted.v1', '{}', '{"actor":"system"}', now(), recorded_at, '' from head)
   update principals set version = 2, email = '', role = 'member', active = false, deleted = true where id = $1`,
  [owner],
];
