import type { DataSource } from 'typeorm';
import { OperatorError } from '../../operator-error.js';
import { type MissingRight, missingRights } from './rights.js';

/** Where a connection leads, and what keeps the service from using it. */
export interface SchemaState {
  readonly role: string;
  readonly database: string;
  readonly schema: string;
  /** The names of the migrations that have not run, oldest first. */
  readonly pending: readonly string[];
  /** The rights that the role lacks. If it may not read the table of migrations, none counts as pending. */
  readonly missing: readonly MissingRight[];
}

/** `public`, if the role may use no schema of its search path. */
const PLACE = `
  select current_user as role, current_database() as database, coalesce(current_schema(), 'public') as schema`;
const EXISTS =
  'select exists (select from pg_class where relname = $1 and relnamespace = to_regnamespace(quote_ident($2))) as is';
const IS_READABLE = `select to_regclass($1) is not null and has_table_privilege(to_regclass($1), 'SELECT') as is`;

/** Needs no right to any table. */
export async function readSchemaState(dataSource: DataSource): Promise<SchemaState> {
  const [place] = await dataSource.query<Omit<SchemaState, 'pending' | 'missing'>[]>(PLACE);
  if (place === undefined) throw new RangeError('a select without a table has one row');
  const missing = await missingRights(dataSource, place.role, place.schema);
  return { ...place, missing, pending: await pendingMigrations(dataSource, place.schema) };
}

async function pendingMigrations(dataSource: DataSource, schema: string): Promise<string[]> {
  const known = knownMigrations(dataSource);
  if (!(await isTrue(dataSource, EXISTS, ['migrations', schema]))) return known;
  if (!(await isTrue(dataSource, IS_READABLE, ['migrations']))) return [];
  const applied = await dataSource.query<{ name: string }[]>('select name from migrations');
  return known.filter((wanted) => applied.every(({ name }) => name !== wanted));
}

/**
 * Throws OperatorError if a migration of a newer version says that this version cannot use the database. A role that may
 * not read the requirements meets another error soon enough.
 */
export async function refuseNewerSchema(dataSource: DataSource): Promise<void> {
  if (!(await isTrue(dataSource, IS_READABLE, ['schema_requirements']))) return;
  const [unknown] = await dataSource.query<{ migration: string; min_version: string }[]>(
    'select migration, min_version from schema_requirements where migration <> all ($1) order by migration desc limit 1',
    [knownMigrations(dataSource)],
  );
  if (unknown === undefined) return;
  throw new OperatorError(
    `the database needs version ${unknown.min_version} of the service or a newer one, since the migration ${unknown.migration} ` +
      'has run: install that version, or restore a backup from before the upgrade',
  );
}

async function isTrue(dataSource: DataSource, question: string, values: readonly string[]): Promise<boolean> {
  const [answer] = await dataSource.query<{ is: boolean }[]>(question, [...values]);
  return answer?.is === true;
}

const knownMigrations = ({ migrations }: DataSource): string[] =>
  migrations.map((migration) => migration.name ?? migration.constructor.name);
