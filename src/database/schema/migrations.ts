import type { ClientBase, Pool } from 'pg';
import { MIGRATIONS } from '../../../migrations/all.js';
import { OperatorError } from '../../operator-error.js';

/** TypeORM's data source, or what `queryableOf` makes of a connection of pg. */
export interface Queryable {
  query<Rows>(text: string, values?: unknown[]): Promise<Rows>;
}

export const queryableOf = (connection: ClientBase | Pool): Queryable => ({
  query: async <Rows>(text: string, values?: unknown[]) => (await connection.query(text, values)).rows as Rows,
});

/** Every migration of this version, oldest first. */
export const KNOWN_MIGRATIONS: readonly string[] = MIGRATIONS.map(({ name }) => name);

/** Names of the applied migrations, oldest first; empty for a database without tables. */
export async function appliedMigrations(database: Queryable): Promise<readonly string[]> {
  const [table] = await database.query<{ exists: boolean }[]>(`select to_regclass('migrations') is not null as exists`);
  if (table?.exists !== true) return [];
  const rows = await database.query<{ name: string }[]>('select name from migrations order by timestamp, id');
  return rows.map(({ name }) => name);
}

export const pendingOf = (applied: readonly string[], known = KNOWN_MIGRATIONS): readonly string[] =>
  known.filter((name) => !applied.includes(name));

/** The first migration that only a newer version knows. */
export const newerOf = (applied: readonly string[]): string | undefined =>
  applied.find((name) => !KNOWN_MIGRATIONS.includes(name));

const MIGRATE = 'run `tunnel-access migrate`, or start this version of the service';

/** Throws OperatorError unless the database has exactly the migrations of this version. Needs SELECT only. */
export async function requireMigrations(database: Queryable): Promise<void> {
  const applied = await appliedMigrations(database);
  if (applied.length === 0) {
    throw new OperatorError(
      `the database has no tables of the service: ${MIGRATE}; or set DATABASE_URL or DATA_DIR to the value that the service uses`,
    );
  }
  const newer = newerOf(applied);
  if (newer !== undefined) {
    throw new OperatorError(
      `a newer version of the service has migrated the database (${newer}): run the command of that version`,
    );
  }
  const [pending] = pendingOf(applied);
  if (pending !== undefined) {
    throw new OperatorError(`the database lacks migrations of this version (${pending} and later): ${MIGRATE}`);
  }
}

/** A migration of a newer version that this version cannot live with. */
export interface UnmetRequirement {
  readonly migration: string;
  readonly min_version: string;
}

/** $1: KNOWN_MIGRATIONS. */
export const UNMET_REQUIREMENT =
  'select migration, min_version from schema_requirements where migration <> all ($1) order by migration desc limit 1';

export const describeRequirement = ({ migration, min_version }: UnmetRequirement): string =>
  `the database needs version ${min_version} of the service or a newer one, since the migration ${migration} has run`;

const IS_READABLE = `select to_regclass($1) is not null and has_table_privilege(to_regclass($1), 'SELECT') as is`;

export async function isReadable(database: Queryable, table: string): Promise<boolean> {
  const [answer] = await database.query<{ is: boolean }[]>(IS_READABLE, [table]);
  return answer?.is === true;
}

/**
 * Throws OperatorError if a migration of a newer version says that this version cannot use the database. A role that may
 * not read the requirements meets another error soon enough.
 */
export async function refuseNewerSchema(database: Queryable): Promise<void> {
  if (!(await isReadable(database, 'schema_requirements'))) return;
  const [unmet] = await database.query<UnmetRequirement[]>(UNMET_REQUIREMENT, [KNOWN_MIGRATIONS]);
  if (unmet === undefined) return;
  throw new OperatorError(
    `${describeRequirement(unmet)}: install that version, or restore a backup from before the upgrade`,
  );
}
