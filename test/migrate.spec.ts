import { createHash } from 'node:crypto';
import { describe, expect, it } from '@jest/globals';
import { DataSource, type MigrationInterface, type QueryRunner } from 'typeorm';
import { MIGRATIONS } from '../migrations/all.js';
import { dataSourceOptions } from '../src/database/data-source.js';
import { parseDatabaseUrl } from '../src/database/database-url.js';
import { migrate } from '../src/database/migrate.js';
import { failOnce } from './support/fail-once.js';
import { emptyDatabase } from './support/service.js';

/** Exceeds the time limit of the service's statements. */
class Slow9999999999999 implements MigrationInterface {
  async up(runner: QueryRunner): Promise<void> {
    await runner.query('create table slowly as select pg_sleep(0.6)::text');
  }

  async down(runner: QueryRunner): Promise<void> {
    await runner.query('drop table slowly');
  }
}

async function openDatabase() {
  const { url, drop } = await emptyDatabase();
  const options = dataSourceOptions(parseDatabaseUrl(url), { databasePoolSize: 2 });
  return { options, drop };
}

const migrated = (dataSource: DataSource): Promise<string> =>
  migrate({ dataSource, hasOwner: false, asOwner: (work) => work(dataSource) }, async () => 'migrated');

const SCHEMA = {
  EventLog1795737600001: 'c918a5f3e63a8276',
  Accounts1795737600002: 'e727ffd4b2fb9687',
  SshCredentials1795737600003: '23ab3ce21cbdd348',
  TcpEdges1795737600004: 'a10cd121a71e9b51',
  IpPolicies1795737600005: '8a3c1f03d0993af6',
  TunnelGroups1795737600006: '3ff5848d18d91d27',
  Claims1795737600007: '24cfb54e7db3b837',
  BindDecisions1795737600008: '2688d03fd76ff323',
  Transparency1795737600009: '3e5e1b13b4b89efd',
};

/** The SQL of each migration, without comments and blanks. */
const digestOf = (Migration: (typeof MIGRATIONS)[number]): string => {
  const { schema } = new Migration() as unknown as { schema: string };
  const text = schema
    .replaceAll(/^\s*--.*$/gm, '')
    .replaceAll(/\s+/g, ' ')
    .trim();
  return createHash('sha256').update(text).digest('hex').slice(0, 16);
};

it('a topic whose schema has changed has a new number, so that a database of before is refused', () => {
  const digests = Object.fromEntries(MIGRATIONS.map((Migration) => [Migration.name, digestOf(Migration)]));
  // A line that differs: give the class the time of today in milliseconds as its number, and record both here.
  expect(digests).toEqual(SCHEMA);
});

describe('migrations', () => {
  it('may exceed the service’s time limit on statements', async () => {
    const { options, drop } = await openDatabase();
    const migrations = [...MIGRATIONS, Slow9999999999999];
    const dataSource = new DataSource({ ...options, migrations, extra: { ...options.extra, query_timeout: 300 } });
    await dataSource.initialize();
    try {
      await migrated(dataSource);
      expect(await dataSource.query('select count(*)::int as made from slowly')).toEqual([{ made: 1 }]);
    } finally {
      await dataSource.destroy();
      await drop();
    }
  });

  const goOnAfter = async (failure: string): Promise<void> => {
    const { options, drop } = await openDatabase();
    const dataSource = await new DataSource(options).initialize();
    try {
      await dataSource.query(failure);
      expect(await migrated(dataSource)).toBe('migrated');
      const [{ attempts, ...ran }] = await dataSource.query(
        `select last_value::int as attempts, (select count(*)::int from migrations) as migrations,
           (select count(distinct name)::int from migrations) as names from attempts`,
      );
      expect(attempts).toBeGreaterThan(1);
      expect(ran).toEqual({ migrations: MIGRATIONS.length, names: MIGRATIONS.length });
    } finally {
      await dataSource.destroy();
      await drop();
    }
  };

  it.each(['23505', '42P07', '42710', 'XX000'])(
    'go on if another instance creates the first table at the same time, of which PostgreSQL says %s',
    (sqlState) => goOnAfter(failOnce(sqlState, 'TABLE')),
  );

  it('go on after a deadlock with a statement of a running instance', () => goOnAfter(failOnce('40P01', 'INDEX')));
});
