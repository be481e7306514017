import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import type pg from 'pg';
import type { MigrationInterface, QueryRunner } from 'typeorm';
import { connect } from '../src/database/connect.js';
import { parseDatabaseUrl } from '../src/database/database-url.js';
import { DedicatedConnections } from '../src/database/dedicated-connections.js';
import { runPending } from '../src/database/pending-migrations.js';
import { setRoleDefaults } from '../src/database/role-defaults.js';
import { inDatabase } from './support/backups.js';
import { textOf } from './support/documents.js';
import { runCli } from './support/process.js';
import { emptyDatabase, type Service, startService } from './support/service.js';
import { makeTwoRoles, startAs } from './support/two-roles.js';

const DEFAULTS = {
  enable_seqscan: 'off',
  enable_hashjoin: 'off',
  enable_mergejoin: 'off',
  plan_cache_mode: 'force_generic_plan',
  jit: 'off',
};
const OF_SERVER = { enable_seqscan: 'on', enable_hashjoin: 'on', enable_mergejoin: 'on', plan_cache_mode: 'auto' };

const pairsOf = (rows: readonly { name: string; setting: string }[]) =>
  rows.map(({ name, setting }) => [name, setting]);

type Sql = Pick<pg.ClientBase, 'query'>;

async function settingsOf(sql: Sql): Promise<Record<string, string>> {
  const { rows } = await sql.query('select name, setting from pg_settings where name = any($1)', [
    Object.keys(DEFAULTS),
  ]);
  return Object.fromEntries(pairsOf(rows));
}

/** Those of a connection that is made now. */
const settingsAt = (url: string): Promise<Record<string, string>> => inDatabase(url, settingsOf);

let service: Service;
beforeAll(async () => {
  service = await startService();
});
afterAll(() => service.stop());

describe('the role of the service', () => {
  it('has its defaults from the first start on, in its database only, and so has each connection of the pool', async () => {
    expect(await settingsAt(service.databaseUrl)).toEqual(DEFAULTS);
    expect(await settingsAt(`${process.env.TEST_POSTGRES_URL}/postgres`)).toMatchObject(OF_SERVER);
    const clients = await Promise.all([1, 2, 3].map(() => service.pool.connect()));
    for (const client of clients) expect(await settingsOf(client)).toEqual(DEFAULTS);
    for (const client of clients) client.release();
  });

  it('has them set back in each transaction of a long command, but for JIT', async () => {
    await DedicatedConnections.use(service.app.database, async (connections) => {
      for (const client of [await connections.openSnapshot(), await connections.openTransaction()]) {
        expect(await settingsOf(client)).toEqual({ ...OF_SERVER, jit: 'off' });
        await client.query('commit');
        expect(await settingsOf(client)).toEqual(DEFAULTS);
      }
    });
  });

  it('has the settings that docs/database.md names', () => {
    const named = [...textOf('docs/database.md').matchAll(/^\| `(\w+)` \| `(\w+)` \|$/gm)];
    expect(Object.fromEntries(named.map(([, name, value]) => [name, value]))).toEqual(DEFAULTS);
  });
});

/** Keeps the settings that it ran with. */
class Noting9999999999999 implements MigrationInterface {
  async up(runner: QueryRunner): Promise<void> {
    await runner.query(`create table noted as select name, setting from pg_settings`);
  }

  async down(): Promise<void> {}
}

it('migrations of a role that owns the tables and has its defaults run without them', async () => {
  const { url, drop } = await emptyDatabase();
  const silent = (): void => undefined;
  const pool = await connect(
    { setting: 'DATABASE_URL', server: parseDatabaseUrl(url) },
    { databasePoolSize: 1 },
    silent,
  );
  await setRoleDefaults(pool, silent);
  await runPending(pool, silent, [Noting9999999999999]);
  const { rows } = await pool.query('select name, setting from noted');
  expect(Object.fromEntries(pairsOf(rows))).toMatchObject(OF_SERVER);
  expect(await settingsAt(url)).toEqual(DEFAULTS);
  await pool.end();
  await drop();
});

describe('a role that may not set its defaults', () => {
  it('is told so by migrate and doctor, with the statements for an administrator, and works', async () => {
    const roles = await makeTwoRoles(`${process.env.TEST_POSTGRES_URL}/postgres`);
    // It logs in under a name of its own, and acts as the role of the service.
    const login = `login_of_${roles.service}`;
    await roles.query(
      `create role ${login} login in role ${roles.service}; alter role ${login} set role = ${roles.service}`,
    );
    const loginUrl = roles.serviceUrl.replace(roles.service, login);
    const settings = { DATABASE_URL: loginUrl, MIGRATION_DATABASE_URL: roles.ownerUrl };
    const lack =
      /statements may read whole tables, because new connections lack enable_seqscan = off, .*, and the role \w+ may not set its defaults: let an administrator run: (alter role .*)/;
    const migrated = await runCli(settings, 'migrate');
    expect([migrated.code, lack.test(migrated.stdout)]).toEqual([0, true]);
    expect((await runCli(settings, 'doctor')).stdout).toMatch(new RegExp(`^warning +plans +${lack.source}`, 'm'));
    const instance = await startAs(loginUrl);
    expect((await instance.admin.get('/ssh_credentials')).status).toBe(200);
    await instance.stop();
    await roles.query(lack.exec(migrated.stdout)?.[1] ?? '');
    expect(await settingsAt(loginUrl)).toEqual(DEFAULTS);
    expect((await runCli(settings, 'migrate')).stdout).not.toMatch(lack);
    await roles.query(`drop role ${login}`);
  });

  it('is told so if the options in DATABASE_URL hide the defaults that it has', async () => {
    const url = `${service.databaseUrl}?options=-c%20enable_seqscan%3Don`;
    const lack =
      /because new connections lack enable_seqscan = off, although the role postgres has these defaults: .*options/;
    expect(await runCli({ DATABASE_URL: url }, 'migrate')).toMatchObject({
      code: 0,
      stdout: expect.stringMatching(lack),
    });
    expect((await runCli({ DATABASE_URL: url }, 'doctor')).stdout).toMatch(lack);
  });
});
