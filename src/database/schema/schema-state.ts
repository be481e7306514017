import { onlyRow } from '../query.js';
import { isReadable, KNOWN_MIGRATIONS, type Queryable, readMigrations } from './migrations.js';
import { type MissingRight, missingRights } from './rights.js';

/** The schema that a connection uses, and what keeps the service from using it. */
export interface SchemaState {
  readonly role: string;
  readonly database: string;
  readonly schema: string;
  /** The names of the migrations that have not run, oldest first. */
  readonly pending: readonly string[];
  /** The rights that the role lacks. If it may not read the table of migrations, none counts as pending. */
  readonly missing: readonly MissingRight[];
  /** Whether no migration is pending and no right is missing. */
  readonly isCurrent: boolean;
}

/** The schema is `public` if the role may use no schema of its search path. */
const PLACE = `
  select current_user as role, current_database() as database, coalesce(current_schema(), 'public') as schema`;
const EXISTS = `select exists
  (select from pg_class where relname = 'migrations' and relnamespace = to_regnamespace(quote_ident($1))) as is`;

/** Reads the state of the schema that a connection uses. Needs no right to any table. */
export async function readSchemaState(database: Queryable): Promise<SchemaState> {
  const place = onlyRow((await database.query<Pick<SchemaState, 'role' | 'database' | 'schema'>>(PLACE)).rows);
  const missing = await missingRights(database, place.role, place.schema);
  const pending = await pendingMigrations(database, place.schema);
  return { ...place, missing, pending, isCurrent: pending.length === 0 && missing.length === 0 };
}

async function pendingMigrations(database: Queryable, schema: string): Promise<readonly string[]> {
  const { rows } = await database.query<{ is: boolean }>(EXISTS, [schema]);
  if (rows[0]?.is !== true) return KNOWN_MIGRATIONS;
  return (await isReadable(database, 'migrations')) ? (await readMigrations(database)).pending : [];
}
