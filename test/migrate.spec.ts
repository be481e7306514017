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

describe('migrations', () => {
  it('may exceed the service’s time limit on statements, and leave the indexes that the service relies on', async () => {
    const { options, drop } = await openDatabase();
    const migrations = [...MIGRATIONS, Slow9999999999999];
    const dataSource = new DataSource({ ...options, migrations, extra: { ...options.extra, query_timeout: 300 } });
    await dataSource.initialize();
    try {
      await migrated(dataSource);
      expect(await dataSource.query('select count(*)::int as made from slowly')).toEqual([{ made: 1 }]);
      const indexes = await dataSource.query<{ name: string; columns: string }[]>(
        `select indexname as name, substring(indexdef from 'btree (.*)$') as columns from pg_indexes
         where tablename = 'ssh_credentials' order by 1`,
      );
      expect(indexes).toEqual(
        expect.arrayContaining([
          { name: 'ssh_credentials_fingerprint', columns: '(fingerprint, id)' },
          { name: 'ssh_credentials_by_id', columns: '(id text_pattern_ops)' },
        ]),
      );
      const names = indexes.map(({ name }) => name);
      expect(names).not.toContain('ssh_credentials_fingerprint_id');
      expect(names).not.toContain('ssh_credentials_id');
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
