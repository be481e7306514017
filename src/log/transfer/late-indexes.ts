import type { Client } from 'pg';
import { dropPlainIndexes } from '../../database/copy/plain-indexes.js';
import { holdOffStarts } from '../../database/migrate.js';
import type { AnyReadModel } from '../read-model.js';

/** The indexes that an import into a database without events makes after it has filled their tables. */
export class LateIndexes {
  private readonly statements = new Map<string, readonly string[]>();

  private constructor(private readonly client: Client) {}

  /** Drops the indexes. Where other logs are, they stay: the service could not use its tables during the whole import. */
  static async of(client: Client, models: readonly AnyReadModel[]): Promise<LateIndexes> {
    const indexes = new LateIndexes(client);
    const tables = ['events', ...models.flatMap(({ tables }) => tables.map(({ name }) => name))];
    if (await mayDrop(client, tables)) {
      for (const table of tables) indexes.statements.set(table, await dropPlainIndexes(client, table));
    }
    return indexes;
  }

  /** Makes those of a table, if they were dropped. */
  async make(table: string): Promise<void> {
    for (const statement of this.statements.get(table) ?? []) await this.client.query(statement);
  }
}

async function mayDrop(client: Client, tables: readonly string[]): Promise<boolean> {
  const may = async (): Promise<boolean> => (await client.query(MAY_DROP, [tables])).rowCount === 1;
  if (!(await may())) return false;
  // A start would append its first account, and wait for the tables until it gives up.
  await holdOffStarts(client);
  return may();
}

/** The service's role need not own the tables. */
const MAY_DROP = `select where not exists (select from events)
  and (select bool_and(pg_has_role(relowner, 'usage')) from pg_class where oid = any ($1::regclass[]))`;
