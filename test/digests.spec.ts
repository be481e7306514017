import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import pg from 'pg';
import { READ_MODELS } from '../src/api/read-models.js';
import { digestsOf } from '../src/event-log/fold/digests.js';
import { frozenFile, frozenLogs } from './support/frozen-logs.js';
import { runCli } from './support/process.js';
import { cloneDatabase, emptyDatabase } from './support/service.js';

/** It has rows of every table. */
const log = frozenLogs().at(-1) ?? '';
const FILE = frozenFile(log, 'log.ndjson');

let database: Awaited<ReturnType<typeof cloneDatabase>>;
let client: pg.Client;
let account: string;
beforeAll(async () => {
  database = await cloneDatabase();
  expect(await runCli({ DATABASE_URL: database.url }, 'audit', 'import', FILE)).toMatchObject({ code: 0 });
  client = new pg.Client(database.url);
  await client.connect();
  account = (await client.query('select account_id from log_heads')).rows[0].account_id;
});
afterAll(async () => {
  await client.end();
  await database.drop();
});

const digest = (databaseUrl: string, ...args: string[]) =>
  runCli({ DATABASE_URL: databaseUrl }, 'projections', 'prove', '--digest', ...args);

/** The digests by table, after these statements, which are undone. */
async function digestsAfter(statements: readonly string[] = [], models = READ_MODELS): Promise<Record<string, string>> {
  await client.query('begin');
  try {
    for (const statement of statements) await client.query(statement);
    const { tables } = await digestsOf(client, models, undefined);
    return Object.fromEntries(tables.map((one) => [one.table, one.digest]));
  } finally {
    await client.query('rollback');
  }
}

const TABLES = READ_MODELS.flatMap(({ tables }) => tables);

/** A value that the column does not have in this row. */
const CHANGED: Readonly<Record<string, (column: string) => string>> = {
  text: (column) => `coalesce(${column}, '') || ' '`,
  integer: (column) => `coalesce(${column}, 0) + 1`,
  boolean: (column) => `${column} is not true`,
  'timestamp with time zone': (column) => `coalesce(${column}, 'epoch') + interval '1 microsecond'`,
  'text[]': (column) => `array_append(${column}, 'x')`,
  jsonb: (column) => `jsonb_build_array(${column})`,
};

describe('the digests of the tables', () => {
  it('are equal on servers with the same log, whatever their collation and the settings that print values', async () => {
    const other = await emptyDatabase(`template template0 locale_provider icu icu_locale 'de-DE' locale 'C.UTF-8'`);
    const settings = { timezone: 'Asia/Kathmandu', datestyle: 'SQL, DMY', bytea_output: 'escape' };
    const name = new URL(other.url).pathname.slice(1);
    for (const [setting, value] of Object.entries(settings)) {
      await client.query(`alter database ${name} set ${setting} = '${value}'`);
    }
    expect(await runCli({ DATABASE_URL: other.url }, 'migrate')).toMatchObject({ code: 0 });
    expect(await runCli({ DATABASE_URL: other.url }, 'audit', 'import', FILE)).toMatchObject({ code: 0 });
    const [here, there] = [await digest(database.url), await digest(other.url)];
    expect(here.code).toBe(0);
    expect(here.stdout).toBe(there.stdout);
    const lines = here.stdout.trimEnd().split('\n');
    const { rows } = await client.query('select size::text from log_heads');
    const line = (table: string) => expect.stringMatching(`^${table}\tall accounts\t${rows[0].size}\t[0-9a-f]{64}$`);
    expect(lines).toEqual(['log_heads', ...TABLES.map((table) => table.name)].map(line));
    expect(await runCli({ DATABASE_URL: other.url }, 'projections', 'repair')).toMatchObject({ code: 0 });
    expect((await digest(other.url)).stdout).toBe(here.stdout);
    await other.drop();
  });

  it.each(TABLES.map((table) => [table.name, table] as const))(
    'differ when one cell of %s differs, in any column, and that of its table alone',
    async (name, { columns }) => {
      const before = await digestsAfter();
      const model = READ_MODELS.filter(({ tables }) => tables.some((table) => table.name === name));
      const types = await client.query(
        `select attname as column, format_type(atttypid, null) as type from pg_attribute where attrelid = $1::regclass`,
        [name],
      );
      const changes = types.rows
        .filter(({ column }) => columns.includes(column))
        .map(({ column, type }) => [column, `${column} = ${CHANGED[type]?.(column)}`]);
      const update = (set: unknown) => `update ${name} set ${set} where ctid = (select max(ctid) from ${name})`;
      for (const [column, change] of changes) {
        const after = await digestsAfter([update(change)], model);
        expect([column, after[name]]).not.toEqual([column, before[name]]);
      }
      // Of all columns at once, since the digests of every table take long.
      const after = await digestsAfter([update(changes.map(([, change]) => change))]);
      expect({ ...after, [name]: '' }).toEqual({ ...before, [name]: '' });
      const fewer = await digestsAfter([`delete from ${name} where ctid = (select min(ctid) from ${name})`], model);
      expect(fewer[name]).not.toBe(before[name]);
    },
  );

  it('differ when a log ends elsewhere, and are not those of rows that no event makes', async () => {
    const before = await digestsAfter();
    const longer = await digestsAfter(['update log_heads set size = size + 1']);
    expect(longer).toEqual({ ...before, log_heads: expect.not.stringMatching(String(before.log_heads)) });
    const used = `insert into credential_usage select account_id, id, now() from ssh_credentials`;
    const later = `update log_heads set recorded_at = now()`;
    const generated = `alter table ssh_credentials add column seen_at timestamptz default now()`;
    expect(await digestsAfter([used, later, generated])).toEqual(before);
  });

  it('are those of the rows in the order of the bytes of their keys, wherever PostgreSQL keeps the rows', async () => {
    const before = await digestsAfter();
    const moved = `update tcp_edges set version = version where id = (select min(id) from tcp_edges)`;
    expect(await digestsAfter([moved])).toEqual(before);
    const byLetters = 'alter table principals alter column id type text collate "de-x-icu"';
    expect(await digestsAfter([byLetters])).toEqual(before);
  });

  it('of an account are those of its rows alone, with the position of its log', async () => {
    const before = await digest(database.url, '--account', account);
    const { rows } = await client.query('select size::text from log_heads where account_id = $1', [account]);
    expect(before.stdout.split('\n')[0]).toMatch(new RegExp(`^log_heads\t${account}\t${rows[0].size}\t[0-9a-f]{64}$`));
    const accounts = { DATABASE_URL: database.url };
    expect(await runCli(accounts, 'accounts', 'create', 'Another')).toMatchObject({ code: 0 });
    expect((await digest(database.url, '--account', account)).stdout).toBe(before.stdout);
    const all = (await digest(database.url)).stdout;
    expect(all.replaceAll('all accounts', account)).not.toContain(before.stdout.split('\n')[1]);
  });

  it('of one read model can be asked for by the name of a table, and rows that differ from the log are named too', async () => {
    await client.query(`update api_keys set description = 'edited' where account_id = $1`, [account]);
    const keys = (await client.query(`select 'api_keys' as line from api_keys where account_id = $1`, [account])).rows;
    const { code, stdout } = await digest(database.url, '--name', 'api_keys', '--account', account);
    expect(code).toBe(1);
    expect(stdout.split('\n').map((line) => line.split('\t')[0])).toEqual([
      ...keys.map(({ line }) => line),
      'log_heads',
      'api_keys',
      '',
    ]);
  });
});
