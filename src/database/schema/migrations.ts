import type { ClientBase, Pool } from 'pg';
import { MIGRATIONS } from '../../../migrations/all.js';
import { OperatorError } from '../../kernel/operator-error.js';

export type Queryable = ClientBase | Pool;

/** Every migration of this version, oldest first. */
export const KNOWN_MIGRATIONS: readonly string[] = MIGRATIONS.map(({ name }) => name);

/** Names of the applied migrations, oldest first; empty for a database without tables. */
export async function appliedMigrations(database: Queryable): Promise<readonly string[]> {
  const tables = await database.query<{ exists: boolean }>(`select to_regclass('migrations') is not null as exists`);
  if (tables.rows[0]?.exists !== true) return [];
  const { rows } = await database.query<{ name: string }>('select name from migrations order by timestamp, id');
  return rows.map(({ name }) => name);
}

/** The migrations that have not run, oldest first. */
export const pendingOf = (applied: readonly string[]): readonly string[] =>
  KNOWN_MIGRATIONS.filter((name) => !applied.includes(name));

/** TypeORM's number of a migration. It grows. */
const numberOf = (name: string): number => Number(name.slice(-13));
const NEWEST = Math.max(...KNOWN_MIGRATIONS.map(numberOf));
const unknownOf = (applied: readonly string[]): readonly string[] =>
  applied.filter((name) => !KNOWN_MIGRATIONS.includes(name));

/** The first migration that only a newer version knows. */
export const newerOf = (applied: readonly string[]): string | undefined =>
  unknownOf(applied).find((name) => numberOf(name) > NEWEST);

/** The first migration of a topic that has been made anew since: see migrations/topic.ts. */
export const ofBefore = (applied: readonly string[]): string | undefined =>
  unknownOf(applied).find((name) => numberOf(name) <= NEWEST);

const MIGRATE = 'run `tunnel-access migrate`, or start this version of the service';

/** Throws OperatorError unless the database has exactly the migrations of this version. Needs SELECT only. */
export async function requireMigrations(database: Queryable): Promise<void> {
  const applied = await appliedMigrations(database);
  if (applied.length === 0) {
    throw new OperatorError(
      `the database has no tables of the service: ${MIGRATE}; or set DATABASE_URL or DATA_DIR to the value that the service uses`,
    );
  }
  const old = ofBefore(applied);
  if (old !== undefined) throw new OperatorError(describeBefore(old));
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

const IS_READABLE = `select to_regclass($1) is not null and has_table_privilege(to_regclass($1), 'SELECT') as is`;

export async function isReadable(database: Queryable, table: string): Promise<boolean> {
  const { rows } = await database.query<{ is: boolean }>(IS_READABLE, [table]);
  return rows[0]?.is === true;
}

/**
 * Throws OperatorError for a database that was made before its topics were as they are now. A role that may not read the
 * migrations meets another error soon enough.
 */
export async function refuseSchemaOfBefore(database: Queryable): Promise<void> {
  if (!(await isReadable(database, 'migrations'))) return;
  const old = ofBefore(await appliedMigrations(database));
  if (old !== undefined) throw new OperatorError(describeBefore(old));
}

/** The first number of a topic. Commit 2222aa4 is the last that knows the migrations with lower numbers. */
const FIRST_TOPIC = 1_795_651_200_001;

/** Why a database of before is refused, and the way out. */
export function describeBefore(migration: string): string {
  const lastCommit = numberOf(migration) < FIRST_TOPIC ? '; commit 2222aa4 is the last that does' : '';
  return (
    `the database has the schema of a version before 1.0 (${migration}), which this version does not migrate${lastCommit}. ` +
    '`tunnel-access audit export --all` of this version reads it, and `audit import` writes the file into a new database (docs/backup.md)'
  );
}
