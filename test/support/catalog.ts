import { readFileSync } from 'node:fs';
import { readCatalog } from '../../src/database/schema/catalog.js';
import { inDatabase } from './backups.js';

export const CATALOG = new URL('../../migrations/catalog.json', import.meta.url);
export const committed = (): string[] => readFileSync(CATALOG, 'utf8').split('\n');

/** The text of migrations/catalog.json for a migrated schema. */
export const catalogOf = (url: string, schema = 'public'): Promise<string> =>
  inDatabase(url, async (client) => {
    await client.query('begin');
    const entries = await readCatalog(client, schema, []);
    return `${JSON.stringify(Object.fromEntries(entries.map(({ key, text }) => [key, text])), null, 2)}\n`;
  });
