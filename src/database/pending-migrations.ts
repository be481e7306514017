import { NestFactory } from '@nestjs/core';
import { TypeOrmModule } from '@nestjs/typeorm';
import { DataSource, MigrationExecutor, type MigrationInterface, QueryFailedError, type QueryRunner } from 'typeorm';
import { MIGRATIONS } from '../../migrations/all.js';
import { PostgresFailure } from './failure.js';
import { clientConfigOf, type PrimaryPool } from './primary-pool.js';
import { FREE_PLANS } from './role-defaults.js';

type Log = (line: string) => void;

const MAX_DEADLOCKS = 10;
/** An index build that a timeout aborted would start again at every start of the service. */
const NO_TIME_LIMIT = 'set local statement_timeout = 0';
/** A migration that takes longer is told by itself. */
const LONG_MIGRATION_MS = 1_000;

/**
 * Runs the pending migrations with TypeORM, which opens one connection to the database of `pool` and closes it afterwards. Nest's
 * logger is silent from then on.
 */
export async function runPending(
  pool: PrimaryPool,
  log: Log,
  migrations: (new () => MigrationInterface)[] = MIGRATIONS,
): Promise<void> {
  const typeOrm = TypeOrmModule.forRoot({
    type: 'postgres',
    migrations,
    extra: { ...clientConfigOf({ ...pool.settings, query_timeout: undefined }), max: 1 },
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
    // Each is complete, also if a later one fails.
    const what = ran.length === 1 ? 'a migration' : `${ran.length} migrations`;
    if (ran.length > 0) log(`ran ${what} in ${Math.ceil(performance.now() - begun)} ms, up to ${ran.at(-1)}`);
  }
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
      await runner.query(`${FREE_PLANS}; ${NO_TIME_LIMIT}`);
      await migrate();
      return await runner.commitTransaction();
    } catch (error) {
      // If this is the end of it, the connection ends with its data source, and the transaction with it.
      if (!PostgresFailure.of(errorOfPg(error)).isDeadlock || attempt === MAX_DEADLOCKS) throw error;
      await runner.rollbackTransaction();
      log(`migration ${name} met a deadlock with another statement, and begins again`);
    }
  }
}

/** TypeORM wraps them. */
const errorOfPg = (error: unknown): unknown => (error instanceof QueryFailedError ? error.driverError : error);
