import type { Client } from 'pg';
import type { Config } from '../../api/config/config.js';
import { parseDatabaseUrl } from '../../database/index.js';
import { type Finding, ok, wrong } from './finding.js';
import { connect, type Primary, rowOf } from './server-check.js';

/** Where a connection leads. The start time tells servers apart, since it is exact to the microsecond. */
interface Place {
  readonly database: string;
  readonly server_start: string;
  readonly role: string;
}

/** Whether both URLs lead to the same database. The hosts may differ, since one URL may lead through a pooler. */
export async function checkOwner(primary: Primary, { migrationDatabaseUrl }: Config): Promise<readonly Finding[]> {
  if (migrationDatabaseUrl === undefined) return [];
  const owner = await connect(parseDatabaseUrl(migrationDatabaseUrl), 'MIGRATION_DATABASE_URL');
  if (typeof owner === 'string') return [wrong(`MIGRATION_DATABASE_URL cannot be used: ${owner}`)];
  try {
    const [service, own] = [await placeOf(primary.client), await placeOf(owner)];
    const both = 'both must name the same one';
    if (own.server_start !== service.server_start) {
      return [wrong(`MIGRATION_DATABASE_URL leads to another server than DATABASE_URL: ${both}`)];
    }
    if (own.database !== service.database) {
      const places = `to the database ${own.database}, but DATABASE_URL to the database ${service.database}`;
      return [wrong(`MIGRATION_DATABASE_URL leads ${places}: ${both}`)];
    }
    return [ok(`MIGRATION_DATABASE_URL leads to the same database, with the role ${own.role}`)];
  } finally {
    await owner.end();
  }
}

const placeOf = (client: Client): Promise<Place> =>
  rowOf(
    client,
    `select current_database() as database, pg_postmaster_start_time()::text as server_start, current_user as role`,
  );
