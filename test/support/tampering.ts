import pg from 'pg';

const TABLES = ['events', 'log_heads', 'log_tiles', 'log_checkpoints'];

/** SQL that computes the hash of every event anew, as it is now. */
export const HASH_ANEW = `update events set leaf_hash = event_leaf_hash(account_id, position, stream_id, stream_version, event_id,
  type, data, metadata, occurred_at, recorded_at)`;

/** SQL that ends all open alarms, as `audit alarms end` does. */
export const END_ALARMS = `update log_alarms set ended_at = clock_timestamp(), reason = 'a test' where ended_at is null`;

/** Runs `work` on a database after these statements of a superuser, with triggers off, and takes them back. */
export async function whileTampered<T>(databaseUrl: string, statements: string, work: () => Promise<T>): Promise<T> {
  const sql = new pg.Client(databaseUrl);
  await sql.connect();
  for (const table of TABLES) await sql.query(`create table kept_${table} as select * from ${table}`);
  await sql.query('set session_replication_role = replica');
  try {
    await sql.query(statements);
    return await work();
  } finally {
    for (const table of TABLES) {
      await sql.query(
        `delete from ${table}; insert into ${table} select * from kept_${table}; drop table kept_${table}`,
      );
    }
    await sql.end();
  }
}
