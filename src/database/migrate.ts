import pg from 'pg';
import { connectDedicated, type Database, withoutTimeLimit } from './database.js';

/**
 * Runs the pending migrations, then `afterwards`, under a lock: TypeORM's own run races if several instances of the
 * service start on an empty database. The lock is a locked row, so it ends with its connection and, unlike an advisory
 * lock, works behind a pooler.
 */
export async function migrate<T>(
  { dataSource }: Pick<Database, 'dataSource'>,
  afterwards: () => Promise<T>,
): Promise<T> {
  const lockClient = await connectDedicated(dataSource);
  try {
    await createLockTable(lockClient);
    await lockClient.query('begin');
    await lockClient.query('select id from migration_lock for update');
    // No time limit: an index build that a timeout aborted would start again at every start of the service.
    await withoutTimeLimit(dataSource, (unlimited) => unlimited.runMigrations());
    const result = await afterwards();
    await lockClient.query('commit');
    return result;
  } finally {
    await lockClient.end();
  }
}

/**
 * `create table if not exists` races too: the loser gets one of these errors, and finds the table on its next attempt.
 */
const LOST_RACE = new Set(['23505', '42P07', 'XX000']);
const MAX_ATTEMPTS = 10;

async function createLockTable(client: pg.Client): Promise<void> {
  for (let attempt = 1; ; attempt += 1) {
    try {
      await client.query('create table if not exists migration_lock (id int primary key)');
      await client.query('insert into migration_lock (id) values (1) on conflict do nothing');
      return;
    } catch (error) {
      const isLostRace = error instanceof pg.DatabaseError && LOST_RACE.has(error.code ?? '');
      if (!isLostRace || attempt === MAX_ATTEMPTS) throw error;
    }
  }
}
