import pg from 'pg';

/** Runs statements on a database outside the service. */
export async function inDatabase<T>(url: string, work: (client: pg.Client) => Promise<T>): Promise<T> {
  const client = new pg.Client(url);
  await client.connect();
  try {
    return await work(client);
  } finally {
    await client.end();
  }
}

/** Leaves out the last column: the transaction id, which differs between servers. */
const WITHOUT_TRANSACTION = `regexp_replace(t::text, ',\\d*\\)$', '')`;
const ROWS: Readonly<Record<string, string>> = {
  migrations: 'name',
  events: WITHOUT_TRANSACTION,
  tunnel_session_records: WITHOUT_TRANSACTION,
};

/**
 * Every row of every table of the schema, as text, but only the names of TypeORM's migrations, since their times
 * differ.
 */
export const rowsOf = (url: string): Promise<string[]> =>
  inDatabase(url, async (client) => {
    const { rows: tables } = await client.query(
      `select relname as name from pg_class where relkind in ('r', 'p') and not relispartition
         and relnamespace = 'public'::regnamespace order by 1`,
    );
    const lines: string[] = [];
    for (const { name } of tables) {
      const { rows } = await client.query(`select ${ROWS[name] ?? 't::text'} as row from ${name} t order by 1`);
      lines.push(...rows.map((one) => `${name} ${one.row}`));
    }
    return lines;
  });
