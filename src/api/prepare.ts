import { Logger } from '@nestjs/common';
import { type Database, migrate, openDatabase } from '../database/index.js';
import { EventLog, type KeyHistory, openEmbeddedKeys } from '../event-log/index.js';
import { IdSource } from '../kernel/ids.js';
import { type FirstAccount, requireFirstAccount } from './access/accounts/first-account.js';
import { bootstrapKeyOf, type Config } from './config/config.js';
import { requireFreeAddress } from './free-address.js';
import type { ServiceLog } from './service-log/service-log.js';

/** What a start does before it serves. */
export interface Prepared {
  readonly database: Database;
  readonly eventLog: EventLog;
  readonly firstAccount: FirstAccount;
  readonly checkpointKeys: KeyHistory | undefined;
}

/** Opens and migrates the database, and finds or creates the first account. */
export async function prepare(config: Config, log: ServiceLog): Promise<Prepared> {
  // This comes before a database is made or migrated, since only a start that succeeds shows the first account's key.
  await requireFreeAddress(config.host, config.port);
  const database = await openDatabase(config, (line) => logDatabaseLine(log, line));
  const eventLog = eventLogOf(config, database);
  try {
    const firstAccount = await migrate(
      database,
      () => {
        // The migrations have silenced Nest's logger.
        Logger.overrideLogger(log);
        return requireFirstAccount(
          { pool: database.pool, eventLog, ids: new IdSource() },
          // A collector would keep a printed key, but a first try on an embedded database needs one.
          { given: bootstrapKeyOf(config), mayGenerate: config.databaseUrl === undefined || log.isOnTerminal },
        );
      },
      (line) => log.log(line, 'Database'),
    );
    return { database, eventLog, firstAccount, checkpointKeys: await checkpointKeysOf(config, database, log) };
  } catch (error) {
    await undo(database);
    throw error;
  }
}

function eventLogOf({ appendQueueLimit, writeDeadlineMs }: Config, { pool }: Database): EventLog {
  const logger = new Logger('EventLog');
  const limits = { queuedItems: appendQueueLimit };
  return new EventLog(pool, (message) => logger.fatal(message), limits, writeDeadlineMs);
}

/**
 * Cleans up after a start that failed. Nobody has seen the key of its first admin, so a new embedded database is
 * removed.
 */
export async function undo(database: Database): Promise<void> {
  await database.close();
  await database.embedded?.removeNew();
}

/** The keys of the setting. Without it, an embedded database has a key in a file beside it. */
async function checkpointKeysOf(
  config: Config,
  { embedded }: Database,
  log: ServiceLog,
): Promise<KeyHistory | undefined> {
  const { checkpointKeys } = config;
  if (checkpointKeys === 'off' || (checkpointKeys === undefined && embedded === undefined)) {
    const state = checkpointKeys ?? 'not set';
    log.log(`CHECKPOINT_KEY is ${state}, so the logs get no signed checkpoints`, 'Checkpoints');
    return undefined;
  }
  if (checkpointKeys !== undefined) return checkpointKeys;
  const { keys, path, isNew } = await openEmbeddedKeys(config.dataDir);
  if (isNew) log.log(`made ${path}, the key that signs the logs; keep a copy of it elsewhere`, 'Checkpoints');
  return keys;
}

/** PostgreSQL's routine lines are for debugging; its warnings and our own lines about it are for the operator. */
function logDatabaseLine(log: ServiceLog, line: string): void {
  if (/ (LOG|DETAIL|HINT|STATEMENT|CONTEXT): /.test(line)) log.debug(line, 'Database');
  else log.log(line, 'Database');
}
