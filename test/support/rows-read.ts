import { setTimeout as sleep } from 'node:timers/promises';
import type pg from 'pg';

/** Runs the query `count` and returns n, after all other connections have ended: only then are their reads counted. */
export async function readOnceAlone(sql: pg.Client, count: string): Promise<number> {
  const others = `select from pg_stat_activity where datname = current_database() and pid <> pg_backend_pid()`;
  while ((await sql.query(others)).rowCount !== 0) await sleep(10);
  // PostgreSQL counts the reads of `sql` itself up to a second later.
  await sql.query('select pg_stat_force_next_flush()');
  return (await sql.query<{ n: number }>(count)).rows[0]?.n ?? Number.NaN;
}

/** Counts the rows of tables that were read by indexes and by scans. */
export const rowsFetched = (...tables: readonly string[]): string =>
  `select sum(idx_tup_fetch + seq_tup_read)::float8 as n from pg_stat_user_tables where relname in ('${tables.join("', '")}')`;
