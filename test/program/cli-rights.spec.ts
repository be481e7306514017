import { existsSync } from 'node:fs';
import { rm } from 'node:fs/promises';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { MIGRATIONS } from '../../migrations/all.js';
import { inDatabase } from '../support/backups.js';
import { newPublicKey } from '../support/keys.js';
import { runCli } from '../support/process.js';
import { cloneDatabase, emptyDatabase, type Service, startService } from '../support/service.js';
import { dataDir, useStarts } from '../support/starts.js';

useStarts();

let service: Service;
let credential: string;
beforeAll(async () => {
  service = await startService();
  const { body } = await service.admin.post('/ssh_credentials', { public_key: newPublicKey(), acl: ['bind:a.test'] });
  await service.admin.patch(`/ssh_credentials/${body.id}`, { acl: ['*'], description: 'tab\there' });
  credential = body.id;
});
afterAll(() => service.stop());

/** Every command that only reads, with what its output holds. */
const readingCommands = (): [command: string, output: RegExp][] => [
  ['accounts list', /\tDefault\n/],
  [`audit show ${credential}`, /ssh_credential_updated\.v1/],
  [`audit diff ${credential} --from 4`, /acl: \["bind:a\.test"\] -> \["\*"\]/],
  [`audit diff ${credential} --from 4 --to ${new Date().toISOString()}`, /acl: /],
  ['audit tail', /ssh_credential_updated\.v1/],
  ['audit verify', /5 events of 1 accounts .*: all in order/],
  ['audit export', /"ssh_credential_updated\.v1"/],
  ['projections prove', /4 rows compared with 5 events .*: they agree/],
];

const sql = (url: string, statement: string) => inDatabase(url, (client) => client.query(statement));

/** Each table with the number of its writes, and each object that was made in the database. */
const FOOTPRINT = `select
  (select json_agg(c.relname order by c.relname) from pg_class c) as objects,
  (select json_agg(name order by name) from migrations) as migrations`;

describe('a command that only reads', () => {
  const role = `auditor_${process.pid}`;
  let url: string;

  beforeAll(async () => {
    await sql(
      service.databaseUrl,
      `create role ${role} login; grant select on all tables in schema public to ${role};
       do $$ begin execute format('revoke temporary on database %I from public', current_database()); end $$`,
    );
    url = service.databaseUrl.replace('postgres@', `${role}@`);
  });
  afterAll(() => sql(service.databaseUrl, `drop owned by ${role}; drop role ${role}`));

  it('needs SELECT only, and leaves the database as it was', async () => {
    expect(url).toContain(`${role}@`);
    await expect(sql(url, 'create temporary table t (a int)')).rejects.toThrow('permission denied');
    const before = await service.pool.query(FOOTPRINT);
    for (const [command, output] of readingCommands()) {
      const { code, stdout, stderr } = await runCli({ DATABASE_URL: url }, ...command.split(' '));
      expect([command, code, stdout + stderr]).toEqual([command, 0, expect.stringMatching(output)]);
    }
    expect((await service.pool.query(FOOTPRINT)).rows).toEqual(before.rows);
  });

  it('of that role names each difference of the tables too, whatever the values hold', async () => {
    const strange = `E'a\\\\"{},\\t\\n\\u00fc'`;
    await service.pool.query(
      `update ssh_credentials set acl = array[${strange}, 'NULL', ''], metadata = E'\\\\N', description = '', created_at = created_at + interval '1 microsecond'`,
    );
    await service.pool.query(`delete from principals`);
    const { code, stdout } = await runCli({ DATABASE_URL: url }, 'projections', 'prove');
    const lines = stdout.trimEnd().split('\n').sort();
    expect([code, lines.map((line) => line.split('\t').filter((_, n) => n !== 1))]).toEqual([
      1,
      [
        ['principals', expect.stringMatching(/^usr_/), '(row)', 'not there', 'there'],
        ['ssh_credentials', credential, 'acl', JSON.stringify([`a\\"{},\t\nü`, 'NULL', '']), '["*"]'],
        ['ssh_credentials', credential, 'created_at', expect.stringMatching(/^"/), expect.stringMatching(/Z"$/)],
        ['ssh_credentials', credential, 'description', '""', '"tab\\there"'],
        ['ssh_credentials', credential, 'metadata', '"\\\\N"', '""'],
      ],
    ]);
    expect(await runCli({ DATABASE_URL: service.databaseUrl }, 'projections', 'repair')).toMatchObject({ code: 0 });
    expect(await runCli({ DATABASE_URL: service.databaseUrl }, 'projections', 'prove')).toMatchObject({ code: 0 });
  });
});

const MIGRATE = 'run `tunnel-access migrate`, or start this version of the service';

describe('a database whose migrations are not those of this version', () => {
  /** Those that only read, and those that write into a database that the service has made. */
  const commands = (): string[] => [
    ...readingCommands().map(([command]) => command),
    'accounts create Other',
    'api-keys create',
    'projections repair',
  ];

  const refusals = async (url: string): Promise<unknown[]> => {
    const answers: unknown[] = [];
    for (const command of commands()) answers.push(await runCli({ DATABASE_URL: url }, ...command.split(' ')));
    return answers;
  };
  const all = (stderr: string): unknown[] => commands().map(() => ({ code: 3, stdout: '', stderr: `${stderr}\n` }));

  it('is refused with what to do, and left as it is: one without tables', async () => {
    const { url, drop } = await emptyDatabase();
    expect(await refusals(url)).toEqual(
      all(
        `the database has no tables of the service: ${MIGRATE}; or set DATABASE_URL or DATA_DIR to the value that the service uses`,
      ),
    );
    const tables = `do $$ begin if exists (select from pg_tables where schemaname = 'public') then raise 'tables'; end if; end $$`;
    await sql(url, tables);
    await drop();
  });

  it('is refused with what to do: one of an earlier and one of a newer version', async () => {
    const { url, drop } = await cloneDatabase();
    const [, second] = MIGRATIONS;
    await sql(url, `delete from migrations where name = '${second?.name}'`);
    expect(await refusals(url)).toEqual(
      all(`the database lacks migrations of this version (${second?.name} and later): ${MIGRATE}`),
    );
    await sql(url, `update migrations set name = 'Later9999999999999' where name like 'EventLog%'`);
    expect(await refusals(url)).toEqual(
      all(
        'a newer version of the service has migrated the database (Later9999999999999): run the command of that version',
      ),
    );
    await drop();
  });
});

describe('a command that is no `start`, `migrate` or `audit import`', () => {
  it('makes no database in a folder without one, also when DATABASE_URL was forgotten', async () => {
    const folder = join(dataDir(), 'forgotten');
    for (const command of [
      'accounts create Other',
      'api-keys create',
      'projections repair',
      'audit tail',
      'migrate --check',
    ]) {
      expect(await runCli({ DATA_DIR: folder }, ...command.split(' '))).toEqual({
        code: 3,
        stdout: '',
        stderr: `there is no database in DATA_DIR ${folder}: set DATA_DIR or DATABASE_URL to the value that the service uses\n`,
      });
    }
    expect(existsSync(dataDir())).toBe(false);
    await rm(dataDir(), { recursive: true, force: true });
  });
});
