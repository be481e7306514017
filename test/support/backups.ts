import { createHash } from 'node:crypto';
import { gunzipSync, gzipSync } from 'node:zlib';
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

/** The last column of an event is its transaction, which is that of its server. */
const ROWS: Readonly<Record<string, string>> = {
  migrations: 'name',
  events: `regexp_replace(t::text, ',\\d*\\)$', '')`,
};

/** Every row of every table of the schema, as text; TypeORM's list of migrations has times of its own. */
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

/** The functions of the schema, whole. */
export const functionsOf = (url: string): Promise<string[]> =>
  inDatabase(url, async (client) => {
    const { rows } = await client.query(
      `select pg_get_functiondef(oid) as text from pg_proc where pronamespace = 'public'::regnamespace order by 1`,
    );
    return rows.map(({ text }) => text);
  });

/** The backup with another text, whose digest at the end is right. */
export function forged(backup: Buffer, change: (text: string) => string): Buffer {
  const text = change(gunzipSync(backup).toString());
  const body = text.slice(0, text.lastIndexOf('{"end"'));
  const sha256 = createHash('sha256').update(body).digest('hex');
  return gzipSync(`${body}${JSON.stringify({ end: 'tunnel-access-backup', sha256 })}\n`);
}
