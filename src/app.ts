import { once } from 'node:events';
import { createServer } from 'node:net';
import { Logger } from '@nestjs/common';
import { NestFactory } from '@nestjs/core';
import { FastifyAdapter, type NestFastifyApplication } from '@nestjs/platform-fastify';
import { type FirstAccount, requireFirstAccount } from './access/accounts/first-account.js';
import { Authentication } from './access/authentication/authentication.js';
import { requestLimitsOf } from './access/authentication/request-limits.js';
import { appModule, makeEventLog } from './app.module.js';
import { bootstrapKeyOf, type Config } from './config.js';
import { type Database, openDatabase } from './database/database.js';
import { migrate } from './database/migrate.js';
import { RequestLog } from './http/logging/request-log.js';
import { fastifyOptions, type Route, serveHttp } from './http/server.js';
import { IdSource } from './ids.js';
import { keyBeside } from './log/seal/checkpoint-key.js';
import { Checkpoints } from './log/seal/checkpoints.js';
import { ServiceLog } from './service-log/service-log.js';

export interface App {
  /** URL of the listening service, for example `http://127.0.0.1:8080`. */
  readonly url: string;
  /** All routes, for tests that must cover every one. */
  readonly routes: readonly Route[];
  /** For the test that makes the API's document. */
  readonly nest: NestFastifyApplication;
  readonly database: Database;
  readonly firstAccount: FirstAccount;
  /** Stops accepting, finishes what is in flight, closes the database. */
  close(): Promise<void>;
}

/** Starts the service, from its configuration until it listens. The tests and the benchmarks use it too. */
export async function createApp(config: Config, log = new ServiceLog(config.logLevel)): Promise<App> {
  Logger.overrideLogger(log);
  await requireFreeAddress(config);
  const database = await openDatabase(config, (line) => logDatabaseLine(log, line));
  try {
    const ids = new IdSource();
    const eventLog = makeEventLog({ config, database });
    const firstAccount = await migrate(
      database,
      () =>
        requireFirstAccount(
          { pool: database.pool, eventLog, ids },
          // A collector would keep a printed key, but a first try on an embedded database needs one.
          { given: bootstrapKeyOf(config), mayGenerate: config.databaseUrl === undefined || log.isOnTerminal },
        ),
      (line) => log.log(line, 'Database'),
    );
    const requestLog = new RequestLog((level, fields, text) => log.line(level, fields, text), config.logRequests);
    const nest = await NestFactory.create<NestFastifyApplication>(
      appModule({ config, database, ids, checkpoints: await checkpointsOf(config, database, log) }, eventLog),
      new FastifyAdapter(fastifyOptions(ids, config, requestLog)),
      { logger: log, bodyParser: false, abortOnError: false },
    );
    const requestLimits = requestLimitsOf(config, (line) => log.warn(line, 'RequestLimits'));
    const routes = serveHttp(nest, {
      ids,
      config,
      requestLog,
      authentication: nest.get(Authentication),
      requestLimits,
    });
    await listen(nest, config);
    return { nest, url: await nest.getUrl(), routes, database, firstAccount, close: () => close(nest, database) };
  } catch (error) {
    await database.close();
    // Its first admin's key was never shown.
    await database.embedded?.removeNew();
    throw error;
  }
}

/** An embedded database gets a key of its own, beside it. */
async function checkpointsOf(config: Config, { embedded }: Database, log: ServiceLog): Promise<Checkpoints> {
  const alarm = (line: string): void => log.error(line, undefined, 'Checkpoints');
  if (config.checkpointKey !== undefined) return new Checkpoints(config.checkpointKey, alarm);
  if (embedded === undefined) {
    log.log('CHECKPOINT_KEY is not set, so the logs get no signed checkpoints', 'Checkpoints');
    return new Checkpoints(undefined);
  }
  const { key, path, isNew } = await keyBeside(config.dataDir);
  if (isNew) log.log(`made ${path}, the key that signs the logs; keep a copy of it elsewhere`, 'Checkpoints');
  return new Checkpoints(key, alarm);
}

/** Before a database is made or migrated, since the first account's key is shown only by a start that succeeds. */
async function requireFreeAddress({ port, host }: Config): Promise<void> {
  const probe = createServer().listen(port, host);
  await once(probe, 'listening');
  probe.close();
  await once(probe, 'close');
}

async function listen(nest: NestFastifyApplication, { port, host }: Config): Promise<void> {
  try {
    await nest.listen(port, host);
  } catch (error) {
    await nest.close();
    throw error;
  }
}

/** PostgreSQL's routine lines are for debugging; its warnings and our own lines about it are for the operator. */
function logDatabaseLine(log: ServiceLog, line: string): void {
  if (/ (LOG|DETAIL|HINT|STATEMENT|CONTEXT): /.test(line)) log.debug(line, 'Database');
  else log.log(line, 'Database');
}

const CLOSE_IDLE_EVERY_MS = 50;

async function close(nest: NestFastifyApplication, database: Database): Promise<void> {
  // A connection that was busy when the stop began stays open when it becomes idle. Node would wait for it.
  const idle = setInterval(() => nest.getHttpServer().closeIdleConnections(), CLOSE_IDLE_EVERY_MS);
  try {
    await nest.close();
  } finally {
    clearInterval(idle);
    await database.close();
  }
}
