import type { Pool } from 'pg';

/** Lets `work` claim hostports of other accounts, as was possible before a hostport belonged to one account. */
export async function withoutClaims<T>(pool: Pool, hostports: readonly string[], work: () => Promise<T>): Promise<T> {
  const values = hostports.map((hostport) => `hostport:${hostport}`);
  const { rows } = await pool.query('delete from claims where value = any ($1) returning *', [values]);
  const result = await work();
  for (const { value, account_id, holders } of rows) {
    const share = `insert into claims as c values ($1, $2, $3, false)
      on conflict (value, account_id) do update set holders = c.holders + excluded.holders`;
    await pool.query(share, [value, account_id, holders]);
  }
  return result;
}
