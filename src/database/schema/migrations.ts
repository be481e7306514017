import type { ClientBase, Pool } from 'pg';
import { MIGRATIONS } from '../../../migrations/all.js';
import { OperatorError } from '../../kernel/operator-error.js';

export type Queryable = ClientBase | Pool;

/** Every migration of this version, oldest first. */
export const KNOWN_MIGRATIONS: readonly string[] = MIGRATIONS.map(({ name }) => name);

/** The migrations of a database, compared with those of this version. */
interface MigrationState {
  /** Those that have run, oldest first. Empty for a database without tables. */
  readonly applied: readonly string[];
  /** Those of this version that have not run, oldest first. */
  readonly pending: readonly string[];
  /** The first one that only a newer version knows. */
  readonly newer: string | undefined;
  /**
   * Says why the service does not take a database from before 1.0, and what to do. Undefined: the database is no such
   * one.
   */
  readonly refusal: string | undefined;
}

/** Reads which migrations have run. Needs SELECT only. */
export async function readMigrations(database: Queryable): Promise<MigrationState> {
  const applied = await appliedMigrations(database);
  const superseded = supersededOf(applied);
  return {
    applied,
    pending: KNOWN_MIGRATIONS.filter((name) => !applied.includes(name)),
    newer: newerOf(applied),
    refusal: superseded === undefined ? undefined : describeSuperseded(superseded),
  };
}

async function appliedMigrations(database: Queryable): Promise<readonly string[]> {
  const tables = await database.query<{ exists: boolean }>(`select to_regclass('migrations') is not null as exists`);
  if (tables.rows[0]?.exists !== true) return [];
  const { rows } = await database.query<{ name: string }>('select name from migrations order by timestamp, id');
  return rows.map(({ name }) => name);
}

/** TypeORM's number of a migration. Later migrations have greater numbers. */
const numberOf = (name: string): number => Number(name.slice(-13));
const NEWEST = Math.max(...KNOWN_MIGRATIONS.map(numberOf));
const unknownOf = (applied: readonly string[]): readonly string[] =>
  applied.filter((name) => !KNOWN_MIGRATIONS.includes(name));

/** The first migration that only a newer version knows. */
export const newerOf = (applied: readonly string[]): string | undefined =>
  unknownOf(applied).find((name) => numberOf(name) > NEWEST);

/** The first migration that this version has replaced by a newer one of the same topic: see migrations/topic.ts. */
export const supersededOf = (applied: readonly string[]): string | undefined =>
  unknownOf(applied).find((name) => numberOf(name) <= NEWEST);

const MIGRATE = 'run `tunnel-access migrate`, or start this version of the service';

/** Throws OperatorError unless the database has exactly the migrations of this version. Needs SELECT only. */
export async function requireMigrations(database: Queryable): Promise<void> {
  const { applied, pending, newer, refusal } = await readMigrations(database);
  if (applied.length === 0) {
    throw new OperatorError(
      `the database has no tables of the service: ${MIGRATE}; or set DATABASE_URL or DATA_DIR to the value that the service uses`,
    );
  }
  if (refusal !== undefined) throw new OperatorError(refusal);
  if (newer !== undefined) {
    throw new OperatorError(
      `a newer version of the service has migrated the database (${newer}): run the command of that version`,
    );
  }
  if (pending.length > 0) {
    throw new OperatorError(`the database lacks migrations of this version (${pending[0]} and later): ${MIGRATE}`);
  }
}

const IS_READABLE = `select to_regclass($1) is not null and has_table_privilege(to_regclass($1), 'SELECT') as is`;

export async function isReadable(database: Queryable, table: string): Promise<boolean> {
  const { rows } = await database.query<{ is: boolean }>(IS_READABLE, [table]);
  return rows[0]?.is === true;
}

/**
 * Throws OperatorError for a database from before 1.0, which this version does not migrate. A role that may not read
 * the table of migrations passes here, and meets another error later.
 */
export async function refuseSupersededSchema(database: Queryable): Promise<void> {
  if (!(await isReadable(database, 'migrations'))) return;
  const { refusal } = await readMigrations(database);
  if (refusal !== undefined) throw new OperatorError(refusal);
}

/**
 * The lowest number of a migration that has a topic. Commit 2222aa4 is the last that knows the migrations before it.
 */
const FIRST_TOPIC = 1_795_651_200_001;

/** Says why a database with this migration is refused, and what to do. */
export function describeSuperseded(migration: string): string {
  const lastCommit = numberOf(migration) < FIRST_TOPIC ? '; commit 2222aa4 is the last that does' : '';
  return (
    `the database has the schema of a version before 1.0 (${migration}), which this version does not migrate${lastCommit}. ` +
    '`tunnel-access audit export --all` of this version reads it, and `audit import` writes the file into a new database (docs/backup.md)'
  );
}
