import { afterEach, describe, expect, it } from '@jest/globals';
import { MIGRATIONS } from '../../migrations/all.js';
import { inDatabase } from '../support/backups.js';
import { logLines, runCli, spawnCli, startMain, stopMain } from '../support/process.js';
import { cloneDatabase, emptyDatabase } from '../support/service.js';
import { makeTwoRoles } from '../support/two-roles.js';

const NAMES = MIGRATIONS.map(({ name }) => name);
const TARGET = /^the target is the database test_\w+ at .*\n$/;
const SUPERUSER = `${process.env.TEST_POSTGRES_URL}/postgres`;

let drop: (() => Promise<void>) | undefined;
afterEach(async () => {
  await drop?.();
  drop = undefined;
});

async function database(make: typeof cloneDatabase | typeof emptyDatabase) {
  const made = await make();
  drop = made.drop;
  const cli = (...args: string[]) => runCli({ DATABASE_URL: made.url }, ...args);
  return { url: made.url, cli };
}

describe('migrate --check', () => {
  it('names what is pending on an empty database, ends with 1 and changes nothing', async () => {
    const { roles, run } = await emptyWithRoles();
    expect(await run('migrate', '--check')).toEqual({
      code: 1,
      stdout: NAMES.map((name) => `pending migration: ${name}\n`).join(''),
      stderr: '',
    });
    expect(await roles.query(`select relname from pg_class where relnamespace = 'public'::regnamespace`)).toEqual([]);
  });

  it('ends with 0 on a current database', async () => {
    const { cli } = await database(cloneDatabase);
    expect(await cli('migrate', '--check')).toEqual({ code: 0, stdout: 'the database is current\n', stderr: '' });
  });
});

const ALL_RAN = new RegExp(`^ran ${NAMES.length} migrations in \\d+ ms, up to ${NAMES.at(-1)}$`);

describe('migrate', () => {
  it('runs what is pending, and says in one line how long that took', async () => {
    const { cli } = await database(emptyDatabase);
    const { code, stdout, stderr } = await cli('migrate');
    expect([code, stderr]).toEqual([0, expect.stringMatching(TARGET)]);
    const lines = stdout.trimEnd().split('\n');
    expect(lines).toEqual([expect.stringMatching(ALL_RAN), 'the database is current']);
    const again = { code: 0, stdout: 'the database is current\n', stderr: expect.stringMatching(TARGET) };
    expect(await cli('migrate')).toEqual(again);
  });

  it('runs by the role of MIGRATION_DATABASE_URL, and grants the service its rights', async () => {
    const { roles, run } = await emptyWithRoles();
    expect(await run('migrate')).toMatchObject({
      code: 0,
      stdout: expect.stringMatching(
        new RegExp(`\ngranted to the role ${roles.service}: .*INSERT, SELECT on table public.events;`),
      ),
    });
    const owners = await roles.query(
      `select distinct relowner::regrole::text as owner from pg_class where relnamespace = 'public'::regnamespace`,
    );
    expect(owners).toEqual([{ owner: roles.owner }]);
    expect(await runCli({ DATABASE_URL: roles.serviceUrl }, 'migrate', '--check')).toMatchObject({ code: 0 });
  });

  it('leaves a database without the migration that failed, with those before it', async () => {
    const { url, cli } = await database(emptyDatabase);
    await inDatabase(url, (client) => client.query('create table accounts (n int)'));
    const { code, stderr } = await cli('migrate');
    expect(code).not.toBe(0);
    expect(stderr).toContain('relation "accounts" already exists');
    await inDatabase(url, (client) => client.query('drop table accounts'));
    expect(await cli('migrate', '--check')).toMatchObject({
      stdout: NAMES.slice(1)
        .map((name) => `pending migration: ${name}\n`)
        .join(''),
    });
    expect(await cli('migrate')).toMatchObject({ code: 0 });
  });
});

describe('a start', () => {
  it('logs its migrations in one line', async () => {
    const { url } = await database(emptyDatabase);
    const main = startMain({ DATABASE_URL: url });
    await main.url;
    await stopMain(main);
    expect(logLines(main).filter(({ msg }) => /^ran /.test(msg))).toMatchObject([
      { msg: expect.stringMatching(ALL_RAN) },
    ]);
  });

  it('goes on with a database that a newer version has migrated: upgrades are rolling', async () => {
    const { url } = await database(cloneDatabase);
    await inDatabase(url, (client) =>
      client.query(`insert into migrations (timestamp, name) values (9999999999999, 'Future9999999999999')`),
    );
    const main = startMain({ DATABASE_URL: url });
    await main.url;
    await stopMain(main);
  });

  it('refuses a database of before 1.0 with the way out, and so does every command', async () => {
    const { url, cli } = await database(cloneDatabase);
    await inDatabase(url, (client) =>
      client.query(`update migrations set name = 'EventLog1763683200001' where name like 'EventLog%'`),
    );
    const sentence = expect.stringMatching(
      /the database has the schema of a version before 1\.0 \(EventLog1763683200001\), [^\n]*commit \w{7} is the last that does\. `tunnel-access audit export --all`/,
    );
    const { code, output } = await startMain({ DATABASE_URL: url }).ended;
    expect([code, output]).toEqual([3, sentence]);
    expect(output).not.toMatch(/\n +at /);
    for (const command of ['accounts list', 'audit verify', 'projections prove', 'migrate', 'migrate --check']) {
      expect(await cli(...command.split(' '))).toMatchObject({ code: 3, stdout: '', stderr: sentence });
    }
    expect(await cli('doctor')).toMatchObject({ code: 1, stdout: sentence });
  });

  it('needs MIGRATION_DATABASE_URL together with DATABASE_URL', async () => {
    const { code, output } = await startMain({ MIGRATION_DATABASE_URL: 'postgres://owner:secret@h/db' }).ended;
    expect([code, output]).toEqual([2, expect.stringContaining('MIGRATION_DATABASE_URL is set without DATABASE_URL')]);
    expect(output).not.toContain('secret');
  });
});

async function emptyWithRoles() {
  const roles = await makeTwoRoles(SUPERUSER);
  const settings = { DATABASE_URL: roles.serviceUrl, MIGRATION_DATABASE_URL: roles.ownerUrl };
  return { roles, run: (...args: string[]) => runCli(settings, ...args) };
}

/** Tells at the end of a process what it has loaded. */
const TELL = `import { Module } from 'node:module';
process.on('exit', () => console.error('TypeORM loaded:', Object.keys(Module._cache).some((path) => path.includes('/typeorm/'))));`;

it('TypeORM is loaded to run migrations, and by no start or command on a current database', async () => {
  const { url } = await database(emptyDatabase);
  const settings = {
    DATABASE_URL: url,
    NODE_OPTIONS: `--import=data:text/javascript,${encodeURIComponent(TELL)}`,
  };
  const isLoaded = (output: string) => /TypeORM loaded: (\w+)/.exec(output)?.[1];
  for (const [command, expected] of [
    ['migrate', 'true'],
    ['migrate', 'false'],
    ['accounts list', 'false'],
  ] as const) {
    expect([command, isLoaded((await spawnCli(settings, ...command.split(' '))).stderr)]).toEqual([command, expected]);
  }
  const main = startMain(settings);
  await main.url;
  expect(isLoaded((await stopMain(main)).output)).toBe('false');
});
