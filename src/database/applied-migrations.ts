import pg from 'pg';
import { MIGRATIONS } from '../../migrations/all.js';
import { OperatorError } from '../operator-error.js';
import type { Database } from './database.js';

const UNDEFINED_TABLE = '42P01';
const MIGRATE = 'run `tunnel-access migrate`, or start this version of the service';

/** Throws OperatorError unless the database has exactly the migrations of this version. Needs SELECT only. */
export async function requireMigrations({ pool }: Pick<Database, 'pool'>): Promise<void> {
  const applied = await appliedMigrations(pool);
  if (applied.size === 0) {
    throw new OperatorError(
      `the database has no tables of the service: ${MIGRATE}; or set DATABASE_URL or DATA_DIR to the value that the service uses`,
    );
  }
  const known = new Set<string>(MIGRATIONS.map(({ name }) => name));
  const unknown = [...applied].find((name) => !known.has(name));
  if (unknown !== undefined) {
    throw new OperatorError(
      `a newer version of the service has migrated the database (${unknown}): run the command of that version`,
    );
  }
  const pending = [...known].find((name) => !applied.has(name));
  if (pending !== undefined) {
    throw new OperatorError(`the database lacks migrations of this version (${pending} and later): ${MIGRATE}`);
  }
}

async function appliedMigrations(pool: pg.Pool): Promise<ReadonlySet<string>> {
  try {
    const { rows } = await pool.query<{ name: string }>('select name from migrations');
    return new Set(rows.map(({ name }) => name));
  } catch (error) {
    if (error instanceof pg.DatabaseError && error.code === UNDEFINED_TABLE) return new Set();
    throw error;
  }
}
