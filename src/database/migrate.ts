import pg from 'pg';
import { connectDedicated, type Database, withoutTimeLimit } from './database.js';

/**
 * Runs the pending migrations, then `afterwards`, while no other copy of the service does either: TypeORM's own run races
 * when several start on an empty database. The lock is a row held in a transaction, so it goes with the connection that
 * holds it and works behind a pooler, unlike an advisory lock.
 */
export async function migrate<T>(
  { dataSource }: Pick<Database, 'dataSource'>,
  afterwards: () => Promise<T>,
): Promise<T> {
  const holder = await connectDedicated(dataSource);
  try {
    await createLockTable(holder);
    await holder.query('begin');
    await holder.query('select id from migration_lock for update');
    // An index of a large table takes as long as it takes; given up halfway, it would be begun anew at every start.
    await withoutTimeLimit(dataSource, (patient) => patient.runMigrations());
    const result = await afterwards();
    await holder.query('commit');
    return result;
  } finally {
    await holder.end();
  }
}

/** `create table if not exists` itself races: the loser sees one of these and finds the table there when it asks again. */
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
