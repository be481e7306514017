import { OperatorError } from '../kernel/operator-error.js';
import { connectDedicated } from './connect.js';
import { createMissing } from './create-missing.js';
import type { Database } from './database.js';
import { PostgresFailure } from './failure.js';
import type { PrimaryPool } from './primary-pool.js';
import { setRoleDefaults } from './role-defaults.js';
import { describeRights, grantMissingRights } from './schema/rights.js';
import { readSchemaState, type SchemaState } from './schema/schema-state.js';

type MigratedDatabase = Pick<Database, 'pool' | 'asOwner' | 'hasOwner'>;
type Log = (line: string) => void;

/**
 * Runs the pending migrations, and then `afterwards` under a lock. The connections of `afterwards` have the defaults of
 * the service's role. A database that is current needs no more than the rights of the service.
 */
export async function migrate<T>(
  database: MigratedDatabase,
  afterwards: () => Promise<T>,
  log: Log = () => undefined,
): Promise<T> {
  const state = await readSchemaState(database.pool);
  if (!state.isCurrent) await bringUpToDate(database, state, log);
  return locked(database.pool, async () => {
    await setRoleDefaults(database.pool, log);
    return afterwards();
  });
}

/** The owner of the tables runs the migrations, and gives the service's role the rights to the new tables. */
async function bringUpToDate(database: MigratedDatabase, service: SchemaState, log: Log): Promise<void> {
  if (!database.hasOwner && service.missing.length > 0) throw new OperatorError(lackOf(service));
  await database.asOwner((owner) => migrateAs(owner, service, log));
  const now = await readSchemaState(database.pool);
  if (now.missing.length > 0) throw new OperatorError(lackOf(now));
  if (now.pending.length > 0) throw new OperatorError(elsewhere('another database or schema', service));
}

function refuseOtherDatabase({ database }: SchemaState, service: SchemaState): void {
  if (database !== service.database) throw new OperatorError(elsewhere(`the database ${database}`, service));
}

async function migrateAs(owner: PrimaryPool, service: SchemaState, log: Log): Promise<void> {
  const state = await readSchemaState(owner);
  const { role, schema } = state;
  refuseOtherDatabase(state, service);
  try {
    await createLockTable(owner);
    await locked(owner, async () => {
      if (state.pending.length > 0) {
        // Only this needs TypeORM.
        const { runPending } = await import('./pending-migrations.js');
        await runPending(owner, log);
      }
      if (role === service.role) return;
      const granted = await grantMissingRights(owner, service.role, schema);
      if (granted.length > 0) log(`granted to the role ${service.role}: ${describeRights(granted)}`);
    });
  } catch (error) {
    throw PostgresFailure.of(error).lacksPrivilege ? mayNotMigrate(error, role, service) : error;
  }
}

/**
 * Runs `work` in one process at a time, because several instances may start on an empty database. The lock is a locked
 * row: it ends with its connection, and unlike an advisory lock it works behind a pooler.
 */
async function locked<T>(pool: PrimaryPool, work: () => Promise<T>): Promise<T> {
  const client = await connectDedicated(pool);
  try {
    await client.query('begin');
    await client.query('select id from migration_lock for update');
    const result = await work();
    await client.query('commit');
    return result;
  } finally {
    await client.end();
  }
}

const createLockTable = (owner: PrimaryPool): Promise<void> =>
  createMissing(async () => {
    await owner.query('create table if not exists migration_lock (id int primary key)');
    await owner.query('insert into migration_lock (id) values (1) on conflict do nothing');
  });

const WAY_OUT =
  'set MIGRATION_DATABASE_URL, with the role that owns the database and its tables, or run `tunnel-access migrate` with it';

const lackOf = ({ role, missing }: SchemaState): string =>
  `the role ${role} of DATABASE_URL lacks rights: ${describeRights(missing)}. To grant them, ${WAY_OUT}`;

function mayNotMigrate(error: unknown, role: string, service: SchemaState): OperatorError {
  const reason = error instanceof Error ? error.message : String(error);
  const pending = `${service.pending.length} migrations are pending`;
  return role === service.role
    ? new OperatorError(`${pending}, and the role ${role} may not run them (${reason}): ${WAY_OUT}`)
    : new OperatorError(
        `the role ${role} of MIGRATION_DATABASE_URL may not migrate (${reason}): it must own the database ` +
          `${service.database} and the tables of the service`,
      );
}

const elsewhere = (place: string, { database }: SchemaState): string =>
  `MIGRATION_DATABASE_URL leads to ${place}, but DATABASE_URL to the database ${database}: both must name the same one`;
