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

/** Leaves out the last column of an event: its transaction id, which differs between servers. */
const ROWS: Readonly<Record<string, string>> = {
  migrations: 'name',
  events: `regexp_replace(t::text, ',\\d*\\)$', '')`,
};

/**
 * Every row of every table of the schema, as text, but only the names of TypeORM's migrations, since their times
 * differ.
 */
export const rowsOf = (url: string): Promise<string[]> =>
  inDatabase(url, async (client) => {
    const { rows: tables } = await client.query(
      `select relname as name from pg_class where relkind = 'r' and relnamespace = 'public'::regnamespace order by 1`,
    );
    const lines: string[] = [];
    for (const { name } of tables) {
      const { rows } = await client.query(`select ${ROWS[name] ?? 't::text'} as row from ${name} t order by 1`);
      lines.push(...rows.map((one) => `${name} ${one.row}`));
    }
    return lines;
  });
