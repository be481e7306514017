import type { ClientBase, Pool } from 'pg';
import { MIGRATIONS } from '../../migrations/all.js';
import { OperatorError } from '../operator-error.js';
import type { Database } from './database.js';

const MIGRATE = 'run `tunnel-access migrate`, or start this version of the service';

/** Throws OperatorError unless the database has exactly the migrations of this version. Needs SELECT only. */
export async function requireMigrations({ pool }: Pick<Database, 'pool'>): Promise<void> {
  const applied = await appliedMigrations(pool);
  if (applied.length === 0) {
    throw new OperatorError(
      `the database has no tables of the service: ${MIGRATE}; or set DATABASE_URL or DATA_DIR to the value that the service uses`,
    );
  }
  const known = new Set<string>(MIGRATIONS.map(({ name }) => name));
  const unknown = applied.find((name) => !known.has(name));
  if (unknown !== undefined) {
    throw new OperatorError(
      `a newer version of the service has migrated the database (${unknown}): run the command of that version`,
    );
  }
  const pending = [...known].find((name) => !applied.includes(name));
  if (pending !== undefined) {
    throw new OperatorError(`the database lacks migrations of this version (${pending} and later): ${MIGRATE}`);
  }
}

/** Names of the applied migrations, oldest first; empty for a database without tables. */
export async function appliedMigrations(connection: ClientBase | Pool): Promise<readonly string[]> {
  const { rows: known } = await connection.query<{ exists: boolean }>(
    `select to_regclass('migrations') is not null as exists`,
  );
  if (known[0]?.exists !== true) return [];
  const { rows } = await connection.query<{ name: string }>('select name from migrations order by timestamp, id');
  return rows.map(({ name }) => name);
}
