import { NestFactory } from '@nestjs/core';
import { TypeOrmModule } from '@nestjs/typeorm';
import { DataSource, MigrationExecutor, type MigrationInterface, QueryFailedError, type QueryRunner } from 'typeorm';
import { MIGRATIONS } from '../../migrations/all.js';
import { PostgresFailure } from './failure.js';
import { PrimaryClient, type PrimaryPool } from './primary-pool.js';
import { FREE_PLANS } from './role-defaults.js';

type Log = (line: string) => void;

const MAX_DEADLOCKS = 10;
/** If a timeout aborted the build of an index, every start of the service would begin it again. */
const NO_TIME_LIMIT = 'set local statement_timeout = 0';
/** A migration that takes longer gets its own line in the log. */
const LONG_MIGRATION_MS = 1_000;

/**
 * Runs the pending migrations with TypeORM, which opens its own connection to the database of `pool` and closes it
 * again. Nest's logger is silent afterwards.
 */
export async function runPending(
  pool: PrimaryPool,
  log: Log,
  migrations: (new () => MigrationInterface)[] = MIGRATIONS,
): Promise<void> {
  const typeOrm = TypeOrmModule.forRoot({
    type: 'postgres',
    migrations,
    extra: { ...pool.settings, query_timeout: undefined, max: 1, Client: PrimaryClient },
    retryAttempts: 1,
  });
  const context = await NestFactory.createApplicationContext(typeOrm, { logger: false, abortOnError: false });
  try {
    await runWith(context.get(DataSource), log);
  } catch (error) {
    throw errorOfPg(error);
  } finally {
    await context.close();
  }
}

async function runWith(dataSource: DataSource, log: Log): Promise<void> {
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
    // Each migration in the list is complete, even if a later one failed.
    const what = ran.length === 1 ? 'a migration' : `${ran.length} migrations`;
    if (ran.length > 0) log(`ran ${what} in ${Math.ceil(performance.now() - begun)} ms, up to ${ran.at(-1)}`);
  }
}

/**
 * Instances of an earlier version may run at the same time. A migration that locks several tables may meet a deadlock
 * with one of their statements, and PostgreSQL may end the migration. docs/decisions.md says how to avoid this.
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
      await runner.query(`${FREE_PLANS}; ${NO_TIME_LIMIT}`);
      await migrate();
      return await runner.commitTransaction();
    } catch (error) {
      // After the last attempt the data source is closed, which ends the connection and its transaction.
      if (!PostgresFailure.of(errorOfPg(error)).isDeadlock || attempt === MAX_DEADLOCKS) throw error;
      await runner.rollbackTransaction();
      log(`migration ${name} met a deadlock with another statement, and begins again`);
    }
  }
}

/** The error of pg inside that of TypeORM. */
const errorOfPg = (error: unknown): unknown => (error instanceof QueryFailedError ? error.driverError : error);
