import { createHash } from 'node:crypto';
import { describe, expect, it } from '@jest/globals';
import type { MigrationInterface, QueryRunner } from 'typeorm';
import { MIGRATIONS } from '../migrations/all.js';
import { connect } from '../src/database/connect.js';
import { parseDatabaseUrl } from '../src/database/database-url.js';
import { migrate } from '../src/database/migrate.js';
import { runPending } from '../src/database/pending-migrations.js';
import { PrimaryPool } from '../src/database/primary-pool.js';
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

/** Keeps what its connection is known by. */
class Noting9999999999999 implements MigrationInterface {
  async up(runner: QueryRunner): Promise<void> {
    await runner.query(
      `create table noted as select current_setting('application_name') as name, current_setting('work_mem') as memory`,
    );
  }

  async down(): Promise<void> {}
}

const SCHEMA = {
  EventLog1796428800001: '78574f8da0303c40',
  Accounts1796428800002: '5cf5f713378237f0',
  SshCredentials1796428800003: 'b1f6d256882992f9',
  TcpEdges1796428800004: '42725570beff0832',
  IpPolicies1796428800005: 'f172f750c91711df',
  TunnelGroups1796428800006: '3ff5848d18d91d27',
  Claims1796428800007: '77d56f0ab282ffff',
  BindDecisions1796428800008: '7d9e09a570409780',
  Transparency1796428800009: '3e5e1b13b4b89efd',
  TunnelSessions1796428800010: '3046b97a91ddd084',
  TunnelRecords1796428800011: 'ae83cc30455bc292',
  Reservations1796428800012: '97fc2b9418191b3c',
  EnrollmentKeys1796428800013: '65bef003887c5009',
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

it('a topic whose schema has changed has a new number, as all have, so that a database of before is refused', () => {
  const digests = Object.fromEntries(MIGRATIONS.map((Migration) => [Migration.name, digestOf(Migration)]));
  // A line that differs: give all classes later numbers in the same order, and record them with this digest here.
  expect(digests).toEqual(SCHEMA);
});

const silent = (): void => undefined;
const connected = (url: string): Promise<PrimaryPool> =>
  connect({ setting: 'DATABASE_URL', server: parseDatabaseUrl(url) }, { databasePoolSize: 2 }, silent);

describe('migrations', () => {
  it('may exceed the time limits on statements, the service’s and the server’s', async () => {
    const { url, drop } = await emptyDatabase();
    const limits = { connectionTimeoutMillis: 2_500, query_timeout: 300 };
    const server = parseDatabaseUrl(`${url}?options=-c%20statement_timeout%3D300`);
    const pool = new PrimaryPool({ server, ...limits });
    try {
      await runPending(pool, silent, [Slow9999999999999]);
      const { rows } = await pool.query('select count(*)::int as made from slowly');
      expect(rows).toEqual([{ made: 1 }]);
    } finally {
      await pool.end();
      await drop();
    }
  });

  it('connect as the service does: under its name and with the options of the URL', async () => {
    const { url, drop } = await emptyDatabase();
    const pool = await connected(`${url}?options=-c%20work_mem%3D1234kB`);
    try {
      await runPending(pool, silent, [Noting9999999999999]);
      expect((await pool.query('select * from noted')).rows).toEqual([{ name: 'tunnel-access', memory: '1234kB' }]);
    } finally {
      await pool.end();
      await drop();
    }
  });

  const goOnAfter = async (failure: string): Promise<void> => {
    const { url, drop } = await emptyDatabase();
    const pool = await connected(url);
    try {
      await pool.query(failure);
      const database = { pool, hasOwner: false, asOwner: <T>(work: (owner: PrimaryPool) => T) => work(pool) };
      expect(await migrate(database, async () => 'migrated')).toBe('migrated');
      const { rows } = await pool.query(
        `select last_value::int as attempts, (select count(*)::int from migrations) as migrations,
           (select count(distinct name)::int from migrations) as names from attempts`,
      );
      const [{ attempts, ...ran }] = rows;
      expect(attempts).toBeGreaterThan(1);
      expect(ran).toEqual({ migrations: MIGRATIONS.length, names: MIGRATIONS.length });
    } finally {
      await pool.end();
      await drop();
    }
  };

  it.each(['23505', '42P07', '42710', 'XX000'])(
    'go on if another instance creates the first table at the same time, of which PostgreSQL says %s',
    (sqlState) => goOnAfter(failOnce(sqlState, 'TABLE')),
  );

  it('go on after a deadlock with a statement of a running instance', () => goOnAfter(failOnce('40P01', 'INDEX')));
});
