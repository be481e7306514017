import { afterAll, beforeAll, describe, expect, it, jest } from '@jest/globals';
import fc from 'fast-check';
import pg from 'pg';
import { READ_MODELS } from '../src/api/read-models.js';
import { DedicatedConnections } from '../src/database/dedicated-connections.js';
import type { AnyReadModel } from '../src/event-log/read-model.js';
import { provenOf } from './support/found.js';
import { history, play, playerOf } from './support/histories.js';
import { allRows as rowsOf } from './support/history-laws.js';
import { newPublicKey } from './support/keys.js';
import { addAccount } from './support/principals.js';
import { runCli } from './support/process.js';
import { repaired } from './support/repaired.js';
import { type Service, startService } from './support/service.js';

type AnyTable = AnyReadModel['tables'][number];

let service: Service;
beforeAll(async () => {
  service = await startService();
});
afterAll(() => service.stop());

const repairAll = () => repaired(service.app.database);
/** The read model of this table. */
const modelOf = (table: string) => READ_MODELS.filter(({ tables }) => tables.some(({ name }) => name === table));
const repairOf = (table: string) => repaired(service.app.database, { models: modelOf(table) });

async function proven(account?: string, models: readonly AnyReadModel[] = READ_MODELS) {
  const found = await provenOf(service.app.database, { account, proven: models });
  expect(found.proof.differences).toBe(found.faults.length + found.differences.length);
  return found;
}

/** Inserts events without their hashes, which PostgreSQL adds. */
const insertHashed = (events: string): string => {
  const columns =
    'account_id, position, stream_id, stream_version, event_id, type, data, metadata, occurred_at, recorded_at';
  return `insert into events select e.*, event_leaf_hash(${columns}) from (${events}) e (${columns})`;
};

const cli = (...args: string[]) => runCli({ DATABASE_URL: service.databaseUrl }, ...args);

const allRows = (): Promise<string[]> => rowsOf(service);

/** The table as a later version has it: with the number of the labels of a tunnel group. */
const withSize = (table: AnyTable): AnyTable => ({
  ...table,
  columns: [...table.columns, 'size'],
  rowsOf: (entity) =>
    table.rowsOf(entity).map((row) => ({ ...row, size: Object.keys((row as { labels: object }).labels).length })),
});

let port = 1;
/** Rows of every table, in two accounts. */
beforeAll(async () => {
  const other = await addAccount(service);
  const steps = fc.sample(history, { numRuns: 4, seed: 46 }).flat();
  await play(playerOf(service.admin), steps);
  await play(playerOf(other.client), steps);
  for (const client of [service.admin, other.client, service.admin]) {
    await client.post('/ssh_credentials', { public_key: newPublicKey(), description: 'a key' });
    await client.post('/edges/tcp', { hostports: [`own.example:${port++}`] });
  }
  const policy = await service.admin.post('/ip_policies', {});
  await service.admin.post('/ip_policy_rules', { ip_policy_id: policy.body.id, cidr: '192.0.2.0/24', action: 'deny' });
  await service.admin.post('/reserved_addrs', { addr: 'own.example:443' });
  await service.admin.post('/enrollment_keys', { acl: ['bind:{name}.a.example'], max_uses: 1 });
  const rows = (await allRows()).map((row) => row.split(' ')[0]);
  expect([...new Set(rows)].sort()).toEqual(READ_MODELS.flatMap(({ tables }) => tables.map(({ name }) => name)).sort());
  expect((await proven(other.accountId)).proof.rows).toBeLessThan((await proven()).proof.rows);
});

describe('projections repair', () => {
  it('keeps every text as it is: blanks, control characters, quotes, and the marks that PostgreSQL gives a meaning', async () => {
    const controls = Array.from({ length: 0x2ff }, (_, code) => String.fromCharCode(code + 1));
    const texts = [
      '\\N',
      '\\.',
      '\\',
      '\\\\',
      'null',
      '',
      ' ',
      '{}',
      '\u2028\ufeff😀',
      '\t\n\r\v\f\b',
      controls.join(''),
    ];
    const body = JSON.stringify({ description: 'a' });
    for (const text of texts) {
      const made = await service.admin.post('/ssh_credentials', { public_key: newPublicKey(), metadata: text });
      expect(made.status).toBe(201);
      const value = JSON.stringify({ text, body });
      const edge = await service.admin.post('/edges/tcp', { hostports: ['t.example:1'], traffic_policy: { value } });
      expect(edge.status).toBe(201);
    }
    // No rule of an ACL has such texts, but a log of another version may.
    const { rows } = await service.pool.query(`select account_id, id from ssh_credentials order by id desc limit 1`);
    const [{ account_id: account, id }] = rows;
    const acl = [...texts, 'NULL', '"', 'a,b', '{a}'];
    await service.pool.query(
      `with head as (update log_heads set size = size + 1, recorded_at = recorded_at + interval '1 microsecond'
         where account_id = $1 returning size, recorded_at)
       ${insertHashed(`select $1, size, $2, 2, gen_random_uuid(), 'ssh_credential_updated.v1', $3, '{"actor":"system"}',
         now(), recorded_at from head`)}`,
      [account, id, JSON.stringify({ acl })],
    );
    await service.pool.query('update ssh_credentials set acl = $2, version = 2 where id = $1', [id, acl]);
    expect(await proven()).toMatchObject({ faults: [], differences: [] });
    const before = await allRows();
    await service.pool.query('truncate ssh_credentials, tcp_edges');
    await repairAll();
    expect(await allRows()).toEqual(before);
    expect((await service.admin.delete(`/ssh_credentials/${id}`)).status).toBe(204);
  });

  it('compares a table by its name, mends what differs, and says what it did', async () => {
    const args = ['--name', 'tcp_edge_hostports'];
    expect(await cli('projections', 'repair', ...args)).toEqual({
      code: 0,
      stdout: '',
      stderr: expect.stringMatching(
        /^\d+ rows compared with \d+ events in \d+\.\d s: they agree, and nothing was written\n$/,
      ),
    });
    const { rows } = await service.pool.query(
      `update tcp_edges set description = 'edited' where id = (select min(id) from tcp_edges) returning account_id, id`,
    );
    const [{ account_id, id }] = rows;
    const { code, stdout, stderr } = await cli('projections', 'repair', ...args);
    expect([code, stdout]).toEqual([
      0,
      expect.stringMatching(new RegExp(`^tcp_edges\t${account_id}\t${id}\tdescription\t"edited"\t".*"\n$`)),
    ]);
    expect(stderr).toMatch(
      /events in \d+\.\d s: 1 differences, 1 rows removed and 1 written; no writer waited for longer than [1-9]\d* ms\n$/,
    );
  });

  const TRIGGER = 'for each row execute function other()';
  const CHANGED =
    /^the database changed tunnel_groups ac_\w+ bkdtg_\w+ on the way in, and they were left as they were: doctor names .*\n$/;
  it.each([
    ['a trigger before it', `create trigger t before insert on tunnel_groups ${TRIGGER}`, CHANGED],
    ['a trigger after it', `create trigger t after insert on tunnel_groups ${TRIGGER}`, CHANGED],
    [
      'a trigger at the commit',
      `create constraint trigger t after insert on tunnel_groups deferrable initially deferred ${TRIGGER}`,
      CHANGED,
    ],
    [
      'a trigger of claims',
      `create trigger t before insert or update on claims ${TRIGGER}`,
      /^the database changed claims ac_\w+ hostport:changed\.example:1 on the way in, and they were left/,
    ],
    [
      'a rule',
      'create rule t as on insert to tunnel_groups do instead nothing',
      /^the database refused a row \(cannot perform INSERT RETURNING .*\), and nothing of its transaction was written: doctor/,
    ],
    [
      'a trigger that refuses',
      `create trigger t before delete on tunnel_groups ${TRIGGER}`,
      /^the database refused a row \(not this one\), and nothing/,
    ],
  ])('says what the database does to rows on their way in, and leaves them: %s', async (_, sql, said) => {
    const { body } = await service.admin.post('/backends/tunnel_group', { labels: { a: '1' } });
    await service.admin.post('/edges/tcp', { hostports: ['changed.example:1'] });
    const table = sql.includes('claims') ? 'claims' : 'tunnel_groups';
    const edit =
      table === 'claims'
        ? `update claims set holders = 99 where value = 'hostport:changed.example:1'`
        : `update tunnel_groups set description = 'edited' where id = '${body.id}'`;
    await service.pool.query(`${edit}; create function other() returns trigger language plpgsql as $$ begin
      if tg_op = 'DELETE' then raise exception 'not this one';
      elsif tg_table_name = 'claims' then new.holders = 9;
      elsif tg_when = 'BEFORE' then new.description = 'other';
      else update tunnel_groups set description = 'other' where id = new.id; end if;
      return new; end $$; ${sql}`);
    try {
      const before = await allRows();
      expect(await cli('projections', 'repair')).toMatchObject({ code: 3, stderr: expect.stringMatching(said) });
      expect(await allRows()).toEqual(before);
    } finally {
      await service.pool.query(`drop function other cascade; drop rule if exists t on ${table}`);
    }
    expect(await cli('projections', 'repair')).toMatchObject({ code: 0 });
    expect(await proven()).toMatchObject({ faults: [], differences: [] });
  });

  it('fills a column that a later version has added to a read model, in every row', async () => {
    await service.admin.post('/backends/tunnel_group', { labels: { a: '1', b: '2' } });
    const models = modelOf('tunnel_groups').map((model) => ({ ...model, tables: model.tables.map(withSize) }));
    await service.pool.query('alter table tunnel_groups add column size int not null default 0');
    try {
      const { written } = await repaired(service.app.database, { models });
      const { rows } = await service.pool.query(
        'select count(*)::int as all, count(*) filter (where size = (select count(*) from jsonb_object_keys(labels)))::int as filled from tunnel_groups',
      );
      expect([written > 0, rows[0].all > 1, rows[0].filled]).toEqual([true, true, rows[0].all]);
      expect((await repaired(service.app.database, { models })).written).toBe(0);
    } finally {
      await service.pool.query('alter table tunnel_groups drop column size');
    }
    expect(await proven()).toMatchObject({ differences: [] });
  });

  it('can be called by its former name, which says the new one', async () => {
    const { code, stderr } = await cli('projections', 'rebuild', '--name', 'accounts');
    expect([code, stderr.split('\n')[0]]).toEqual([
      0,
      'projections rebuild is now called projections repair; the next release knows the new name only',
    ]);
  });

  it.each(['prove', 'repair'])(
    '%s can be of one account and one resource, and refuses those that are not there',
    async (command) => {
      const edit = `update ssh_credentials set description = 'edited' where id in (select id from ssh_credentials order by id limit 3)
      returning account_id, id`;
      const { rows } = await service.pool.query(edit);
      const [{ account_id: account, id }] = rows;
      const found = async (...args: string[]) => {
        const { stdout } = await cli('projections', command, ...args);
        return stdout
          .split('\n')
          .slice(0, -1)
          .map((line) => line.split('\t')[2]);
      };
      expect(await found('--id', id)).toEqual([id]);
      const others = rows.filter((one) => one.account_id === account && (command === 'prove' || one.id !== id));
      expect((await found('--account', account)).sort()).toEqual(others.map((one) => one.id).sort());
      const unknown = await cli('projections', command, '--id', 'sshcr_none');
      expect(unknown).toMatchObject({ code: 2, stderr: expect.stringMatching(/^there is no stream sshcr_none: /) });
      await repairAll();
    },
  );

  it('folds each event of the log once', async () => {
    const { rows } = await service.pool.query(`select count(*)::int as events from events`);
    expect((await repairAll()).events).toBe(rows[0].events);
  });

  it('is not ended by time limits of the database', async () => {
    const { rows } = await service.pool.query('select current_database() as name');
    for (const limit of ['transaction_timeout', 'idle_in_transaction_session_timeout']) {
      await service.pool.query(`alter database ${rows[0].name} set ${limit} = '40ms'`);
    }
    await service.pool.query('delete from tcp_edges');
    expect((await repairAll()).written).toBeGreaterThan(0);
    await service.pool.query(`alter database ${rows[0].name} reset all`);
  });
});

describe('the connections of a long operation', () => {
  it.each([
    ['three', 'a repair', repairAll, 3],
    ['two', 'a proof', proven, 2],
  ])('are %s, which %s uses for all read models', async (_, _name, run: () => Promise<unknown>, count) => {
    const connect = jest.spyOn(pg.Client.prototype, 'connect');
    await run();
    const calls = connect.mock.calls.length;
    connect.mockRestore();
    expect(calls).toBe(count);
  });

  it('are used again without what their last transaction did or set, and not after the server ended them', async () => {
    await DedicatedConnections.use(service.app.database, async (connections) => {
      const first = await connections.openTransaction();
      await first.query(`set local enable_sort = off; create table left_over ()`);
      await connections.release(first);
      const again = await connections.open();
      expect(again).toBe(first);
      const { rows } = await again.query(
        `select to_regclass('left_over') as made, current_setting('enable_sort') as sort`,
      );
      expect(rows).toEqual([{ made: null, sort: 'on' }]);
      await connections.release(again);
      const ended = new Promise((resolve) => first.once('end', resolve));
      const { rows: pids } = await first.query('select pg_backend_pid() as pid');
      await service.pool.query('select pg_terminate_backend($1)', [pids[0].pid]);
      await ended;
      const other = await connections.openSnapshot();
      expect(other).not.toBe(first);
      expect((await other.query('select 1 as one')).rows).toEqual([{ one: 1 }]);
    });
  });
});

/** What `audit verify` says too. */
const SECONDS = '\\d+\\.\\d s';
const UNSIGNED =
  "the log's own signatures of checkpoints are not checked: set CHECKPOINT_KEY, or give the public key of the log with --key\n";

/** Manual changes of a table: an edited field, a lost row, an added row. load/repair-of-edits.spec.ts has all tables. */
const TABLES: readonly [table: string, edit: string, field: string, add: string][] = [
  ['api_keys', `token_hash = 'known'`, 'token_hash', `'ak_x', 1, now(), 'usr_x', '', '', 'hash'`],
  ['tcp_edge_hostports', 'exclusive = not exclusive', 'exclusive', `'edgtcp_x', 'h:1', false, now()`],
];

/** Takes the last events of a log away. */
async function forget(account: string, events: number): Promise<void> {
  await service.pool.query('alter table events disable trigger events_guard');
  await service.pool.query(
    `with head as (update log_heads set size = size - $2::int where account_id = $1 returning size)
     delete from events using head where account_id = $1 and position > head.size`,
    [account, events],
  );
  await service.pool.query('alter table events enable trigger events_guard');
}

describe('projections prove', () => {
  beforeAll(async () => {
    await service.admin.post('/ssh_credentials', { public_key: newPublicKey() });
    await service.admin.post('/edges/tcp', { hostports: ['x.example:1'], backend: { backend_id: 'bkd_1' } });
    const { body } = await service.admin.post('/bot_users', { name: 'tampered' });
    await service.admin.post('/api_keys', { owner_id: body.id });
  });

  it.each(TABLES)('names a manual change in %s, and a repair mends it', async (table, edit, field, add) => {
    const key = table === 'tcp_edge_hostports' ? 'edge_id, hostport' : 'id';
    const { rows } = await service.pool.query(
      `select ctid, account_id as account, ${key.split(',')[0]} as id from ${table} order by account_id, ${key} limit 2`,
    );
    const [edited, lost] = rows;
    const before = await allRows();
    // After all rows of the log, or before them.
    const stranger = table.startsWith('tcp') ? 'ac_none' : 'ac_0';
    await service.pool.query(`alter table ${table} disable trigger user`);
    await service.pool.query(`delete from ${table} where ctid = $1`, [lost.ctid]);
    await service.pool.query(`update ${table} set ${edit} where ctid = $1`, [edited.ctid]);
    await service.pool.query(`insert into ${table} values ('${stranger}', ${add})`);
    await service.pool.query(`alter table ${table} enable trigger user`);

    const { differences } = await proven();
    expect(differences).toHaveLength(3);
    expect(differences).toContainEqual(
      expect.objectContaining({ table, account: lost.account, field: '(row)', live: 'not there', log: 'there' }),
    );
    expect(differences).toContainEqual(
      expect.objectContaining({ table, account: stranger, field: '(row)', live: 'there', log: 'not there' }),
    );
    const change = differences.find((one) => one.field === field);
    expect(change).toMatchObject({ table, account: edited.account, key: expect.stringContaining(edited.id) });
    expect(change?.live).not.toBe(table === 'api_keys' ? 'known' : change?.log);

    await repairOf(table);
    expect(await allRows()).toEqual(before);
  });

  it('finds a difference of a microsecond, and distinguishes NULL from the text null', async () => {
    const before = await allRows();
    await service.pool.query(`update accounts set created_at = created_at + interval '1 microsecond'`);
    await service.pool.query(`update tcp_edges set traffic_policy = 'null' where traffic_policy is null`);
    const { differences } = await proven();
    expect([...new Set(differences.map(({ field }) => field))].sort()).toEqual(['created_at', 'traffic_policy']);
    expect(differences).toContainEqual(expect.objectContaining({ live: expect.stringMatching(/\.\d{3}001Z"$/) }));
    expect(differences).toContainEqual(expect.objectContaining({ live: 'null', log: 'NULL' }));
    await repairOf('accounts');
    await repairOf('tcp_edges');
    expect(await allRows()).toEqual(before);
  });

  it('names events of streams of an unknown kind, wherever their ids are in the order', async () => {
    const { accountId } = await addAccount(service);
    const ids = ['aa_1', 'edg_1', 'edgtcp`', 'sshcr-1', 'zz_1'];
    await service.pool.query(
      `with head as (update log_heads set size = size + 5 where account_id = $1 returning size - 5 as base)
       insert into events select $1, base + n, id, 1, gen_random_uuid(), 'new.v1', '{}', '{}', now(), now(), ''
         from head, unnest($2::text[]) with ordinality u(id, n)`,
      [accountId, ids],
    );
    const unknown = 'this version of the service does not know events of type new.v1 in stream';
    const named = expect.arrayContaining(
      ids.map((id) => expect.stringMatching(new RegExp(`^position \\d+: ${unknown} ${id}$`))),
    );
    expect((await proven()).faults).toEqual(named);
    expect((await proven(accountId)).faults).toEqual(named);
    await forget(accountId, ids.length);
  });

  it('names an event whose time is beyond the range of JavaScript, and says that it stopped there', async () => {
    const { accountId } = await addAccount(service);
    const stream = `edgtcp_${'never'.padStart(27, '0')}`;
    const { rows } = await service.pool.query(
      `with head as (update log_heads set size = size + 1 where account_id = $1 returning size)
       insert into events select $1, size, '${stream}', 1, gen_random_uuid(), 'tcp_edge_created.v1', '{}', '{}',
         'infinity', now(), '' from head returning position`,
      [accountId],
    );
    const location = `account ${accountId}, position ${rows[0].position} (stream ${stream})`;
    expect((await proven()).faults).toEqual(
      expect.arrayContaining([
        `position ${rows[0].position}: occurred_at is not a time as export writes it`,
        `${location}: its occurred_at is beyond the range of times in JavaScript; from there on no rows were compared, and no claims`,
      ]),
    );
    await expect(repairAll()).rejects.toThrow(location);
    await forget(accountId, 1);
  });

  it('refuses a second creation in a stream, of which a repair would make another entity', async () => {
    const { body } = await service.admin.post('/edges/tcp', { hostports: ['second.example:1'] });
    const { rows } = await service.pool.query(
      `with head as (update log_heads set size = size + 1 where account_id = (select account_id from tcp_edges where id = $1)
         returning size)
       insert into events (account_id, position, stream_id, stream_version, event_id, type, data, metadata, occurred_at, recorded_at, leaf_hash)
       select account_id, size, stream_id, 2, gen_random_uuid(), type, data, metadata, now(), now(), '' from events, head
         where stream_id = $1 returning account_id, position`,
      [body.id],
    );
    const [{ account_id, position }] = rows;
    await expect(repairAll()).rejects.toThrow(
      `account ${account_id}, position ${position} (stream ${body.id}): a second event of type tcp_edge_created.v1 in its stream`,
    );
    await forget(account_id, 1);
  });

  it.each(['bigint', 'real', 'text'])('goes on with a column that was altered to %s, and finds edits', async (type) => {
    const provenModel = () => proven(undefined, modelOf('principals'));
    await service.pool.query(`alter table principals alter name type varchar(300), alter version type ${type}`);
    expect((await provenModel()).differences).toEqual([]);
    await service.pool.query(`update principals set version = '999' where id = (select min(id) from principals)`);
    expect((await provenModel()).differences).toEqual([
      expect.objectContaining({ table: 'principals', field: 'version' }),
    ]);
    await repairOf('principals');
    expect((await provenModel()).differences).toEqual([]);
    await service.pool.query(
      'alter table principals alter name type text, alter version type integer using version::integer',
    );
  });

  it('compares a long log in ranges, and finds an edit, a lost row and an added one in any of them', async () => {
    const { accountId } = await addAccount(service);
    const made = `'tcp_edge_created.v1', '{"description":"' || repeat('x', 400) || '","metadata":"","hostports":[],"backend":null,"ip_restriction":null,"traffic_policy":null}'`;
    await service.pool.query(
      `with head as (update log_heads set size = size + 4000 where account_id = $1 returning size - 4000 as base)
       ${insertHashed(`select $1, base + n, 'edgtcp_' || lpad(n::text, 27, '0'), 1, gen_random_uuid(), ${made},
         '{"actor":"system"}', now(), now() + n * interval '1 microsecond' from head, generate_series(1, 4000) n`)}`,
      [accountId],
    );
    await repairOf('tcp_edges');
    expect(await proven(accountId, modelOf('tcp_edges'))).toMatchObject({ faults: [], differences: [] });
    const places = [1, 1200, 1201, 2500, 3999, 4000];
    const at = (n: number): string => `edgtcp_${String(n).padStart(27, '0')}`;
    for (const n of places) {
      await service.pool.query(`update tcp_edges set description = 'edited' where id = $1`, [at(n)]);
      await service.pool.query(
        `insert into tcp_edges select account_id, id || '-', 1, created_at, '', '', '[]', null, null, null from tcp_edges where id = $1`,
        [at(n)],
      );
      await service.pool.query('delete from tcp_edges where id = $1', [at(n - 2)]);
    }
    const found = (await proven(accountId, modelOf('tcp_edges'))).differences.map(({ key, field, live }) => [
      key,
      field === '(row)' ? live : field,
    ]);
    const lost = places.filter((n) => n > 2).map((n) => [at(n - 2), 'not there']);
    const expected = [
      ...places.flatMap((n) => [
        [at(n), 'description'],
        [`${at(n)}-`, 'there'],
      ]),
      ...lost,
    ];
    expect(found.sort()).toEqual(expected.sort());
    await repairOf('tcp_edges');
    expect((await proven(accountId, modelOf('tcp_edges'))).differences).toEqual([]);
  });

  it('names every live row that has no event, in bounded steps, even if a whole account has none', async () => {
    await service.pool.query('alter table tcp_edge_hostports disable trigger user');
    const stray = `insert into tcp_edge_hostports
      select 'ac_stray', 'edgtcp_' || n, 'h:' || n, false, now() from generate_series(1, 5000) n`;
    await service.pool.query(stray);
    const { proof, differences } = await proven(undefined, modelOf('tcp_edge_hostports'));
    expect(differences.length).toBe(5000);
    expect(new Set(differences.map(({ account, field, live }) => `${account} ${field} ${live}`))).toEqual(
      new Set(['ac_stray (row) there']),
    );
    expect(proof.rows).toBeGreaterThan(5000);
    expect((await proven('ac_stray', modelOf('tcp_edge_hostports'))).differences.length).toBe(5000);
    await service.pool.query(`delete from tcp_edge_hostports where account_id = 'ac_stray'`);
    await service.pool.query('alter table tcp_edge_hostports enable trigger user');
  });

  it('finds a head that is not at the end of its log', async () => {
    await service.pool.query('update log_heads set size = size + 1');
    expect((await proven()).faults).toContainEqual(expect.stringMatching(/^position \d+: missing$/));
    await service.pool.query('update log_heads set size = size - 1');
  });

  it('prints a line for each difference and exits with 1, or says that rows and log agree', async () => {
    expect(await cli('projections', 'prove')).toMatchObject({
      code: 0,
      stdout: '',
      stderr: expect.stringMatching(
        `^${UNSIGNED}\\d+ rows compared with \\d+ events in ${SECONDS}, ${SECONDS} of it to fold and compare them: they agree\n$`,
      ),
    });
    await service.pool.query(`update principals set role = 'guest' where id = (select min(id) from principals)`);
    const { code, stdout, stderr } = await cli('projections', 'prove', '--name', 'principals');
    expect([code, stdout.split('\t').slice(-3)]).toEqual([1, ['role', '"guest"', '"member"\n']]);
    expect(stderr).toMatch(/1 differences\n$/);
    await repairOf('principals');
  });
});
