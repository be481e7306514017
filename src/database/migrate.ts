import { type DataSource, MigrationExecutor, type QueryRunner } from 'typeorm';
import { OperatorError } from '../operator-error.js';
import { createMissing } from './create-missing.js';
import { connectDedicated, withoutTimeLimit } from './data-source.js';
import type { Database } from './database.js';
import { PostgresFailure } from './failure.js';
import { describeRights, grantMissingRights } from './schema/rights.js';
import { readSchemaState, type SchemaState } from './schema/schema-state.js';

type MigratedDatabase = Pick<Database, 'dataSource' | 'asOwner' | 'hasOwner'>;
type Log = (line: string) => void;

const MAX_DEADLOCKS = 10;
/** A migration that takes longer is told by itself. */
const LONG_MIGRATION_MS = 1_000;

/**
 * Runs the pending migrations, told in one line, then `afterwards` under a lock. A database that is
 * current needs no more than the rights of the service.
 */
export async function migrate<T>(
  database: MigratedDatabase,
  afterwards: () => Promise<T>,
  log: Log = () => undefined,
): Promise<T> {
  const state = await readSchemaState(database.dataSource);
  if (!isCurrent(state)) await bringUpToDate(database, state, log);
  return locked(database.dataSource, afterwards);
}

export const isCurrent = ({ pending, missing }: SchemaState): boolean => pending.length === 0 && missing.length === 0;

/** The owner runs the migrations, and gives the service's role the rights to what they made. */
async function bringUpToDate(database: MigratedDatabase, service: SchemaState, log: Log): Promise<void> {
  if (!database.hasOwner && service.missing.length > 0) throw new OperatorError(lackOf(service));
  await database.asOwner((owner) => migrateAs(owner, service, log));
  const now = await readSchemaState(database.dataSource);
  if (now.missing.length > 0) throw new OperatorError(lackOf(now));
  if (now.pending.length > 0) throw new OperatorError(elsewhere('another database or schema', service));
}

function refuseOtherDatabase({ database }: SchemaState, service: SchemaState): void {
  if (database !== service.database) throw new OperatorError(elsewhere(`the database ${database}`, service));
}

async function migrateAs(owner: DataSource, service: SchemaState, log: Log): Promise<void> {
  const state = await readSchemaState(owner);
  const { role, schema } = state;
  refuseOtherDatabase(state, service);
  try {
    await createLockTable(owner);
    await locked(owner, async () => {
      // No time limit: an index build that a timeout aborted would start again at every start of the service.
      await withoutTimeLimit(owner, (unlimited) => runPending(unlimited, log));
      if (role === service.role) return;
      const granted = await grantMissingRights(owner, service.role, schema);
      if (granted.length > 0) log(`granted to the role ${service.role}: ${describeRights(granted)}`);
    });
  } catch (error) {
    throw PostgresFailure.of(error).lacksPrivilege ? mayNotMigrate(error, role, service) : error;
  }
}

async function runPending(dataSource: DataSource, log: Log): Promise<void> {
  const runner = dataSource.createQueryRunner();
  const executor = new MigrationExecutor(dataSource, runner);
  const begun = performance.now();
  const ran: string[] = [];
  try {
    for (const migration of await executor.getPendingMigrations()) {
      const beginning = performance.now();
      await runUnlessDeadlocked(runner, migration.name, () => executor.executeMigration(migration), log);
      ran.push(migration.name);
      const tookMs = performance.now() - beginning;
      if (tookMs > LONG_MIGRATION_MS) log(`migration ${migration.name} ran in ${(tookMs / 1000).toFixed(1)} s`);
    }
  } finally {
    // Each is complete, also if a later one fails.
    const what = ran.length === 1 ? 'a migration' : `${ran.length} migrations`;
    if (ran.length > 0) log(`ran ${what} in ${Math.ceil(performance.now() - begun)} ms, up to ${ran.at(-1)}`);
  }
  await runner.release();
}

/**
 * Instances of an earlier version go on meanwhile. A migration that locks their tables one after the other may end in a
 * deadlock with one of their statements, and be the one that PostgreSQL ends. docs/decisions.md says how to avoid it.
 */
async function runUnlessDeadlocked(
  runner: QueryRunner,
  name: string,
  migrate: () => Promise<unknown>,
  log: Log,
): Promise<void> {
  for (let attempt = 1; ; attempt += 1) {
    await runner.startTransaction();
    try {
      await migrate();
      return await runner.commitTransaction();
    } catch (error) {
      // If this is the end of it, the connection ends with its data source, and the transaction with it.
      if (!PostgresFailure.of(error).isDeadlock || attempt === MAX_DEADLOCKS) throw error;
      await runner.rollbackTransaction();
      log(`migration ${name} met a deadlock with another statement, and begins again`);
    }
  }
}

/**
 * Runs `work` in one process at a time: migrations race if several instances start on an empty database. The lock is a
 * locked row, so it ends with its connection and, unlike an advisory lock, works behind a pooler.
 */
async function locked<T>(dataSource: DataSource, work: () => Promise<T>): Promise<T> {
  const client = await connectDedicated(dataSource);
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

const createLockTable = (owner: DataSource): Promise<void> =>
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
