import { lookup } from 'node:dns/promises';
import { NestFactory } from '@nestjs/core';
import { FastifyAdapter, type NestFastifyApplication } from '@nestjs/platform-fastify';
import { type Database, Incidents } from '../database/index.js';
import { Checkpoints, LogAlarms } from '../event-log/index.js';
import { IdSource } from '../kernel/ids.js';
import type { FirstAccount } from './access/accounts/first-account.js';
import { Authentication } from './access/authentication/authentication.js';
import { requestLimitsOf } from './access/authentication/request-limits.js';
import { appModule } from './app.module.js';
import { bootstrapKeyOf, type Config } from './config/config.js';
import { OneTimeLink } from './console/one-time-link.js';
import { RequestLog } from './http/logging/request-log.js';
import type { Route } from './http/routes.js';
import { fastifyOptions, serveHttp } from './http/server.js';
import { StopNotice } from './http/stop-notice.js';
import { type Prepared, prepare, undo } from './prepare.js';
import { ServiceLog } from './service-log/service-log.js';

interface Server {
  /** URL of the listening service, for example `http://127.0.0.1:8080`. */
  readonly url: string;
  /** All routes, for tests that must cover every one. */
  readonly routes: readonly Route[];
  /** For the test that makes the API's document. */
  readonly nest: NestFastifyApplication;
  readonly database: Database;
  /** Signs in whoever sees it: for a terminal only. */
  readonly oneTimeUrl?: string;
  /** Given before `close`, so that clients leave first. */
  readonly stopNotice: StopNotice;
  /** Stops accepting, finishes what is in flight, closes the database. */
  close(): Promise<void>;
}

export interface App extends Server {
  readonly firstAccount: FirstAccount;
}

/** Starts the service, from its configuration until it listens. The tests and the benchmarks use it too. */
export async function createApp(config: Config, log = new ServiceLog(config.logLevel)): Promise<App> {
  const prepared = await prepare(config, log);
  try {
    return { ...(await serve(config, prepared, log)), firstAccount: prepared.firstAccount };
  } catch (error) {
    await undo(prepared.database);
    throw error;
  }
}

async function serve(
  config: Config,
  { database, eventLog, checkpointKeys }: Prepared,
  log: ServiceLog,
): Promise<Server> {
  const ids = new IdSource();
  const stopNotice = new StopNotice();
  const alarms = new LogAlarms(database.pool);
  const checkpoints = new Checkpoints(checkpointKeys, alarms, (line) => log.error(line, undefined, 'Checkpoints'));
  const requestLog = new RequestLog((level, fields, text) => log.line(level, fields, text), config.logRequests);
  const nest = await NestFactory.create<NestFastifyApplication>(
    appModule({ config, database, eventLog, ids, checkpoints, stopNotice }),
    new FastifyAdapter(fastifyOptions(ids, config, requestLog)),
    { logger: log, bodyParser: false, abortOnError: false },
  );
  warnOfShortKey(config, log);
  const requestLimits = requestLimitsOf(config, (line) => log.warn(line, 'RequestLimits'));
  const authentication = nest.get(Authentication);
  const incidents = nest.get(Incidents);
  const failed = (error: unknown): void => void incidents.failed(error);
  const routes = serveHttp(nest, { ids, config, requestLog, authentication, failed, requestLimits, stopNotice });
  await listen(nest, config);
  const url = await nest.getUrl();
  const link =
    config.console && database.embedded !== undefined && log.isOnTerminal
      ? nest.get(OneTimeLink, { strict: false })
      : undefined;
  const oneTimeUrl = link && { oneTimeUrl: `${url}/console#once=${link.make()}` };
  return { nest, url, ...oneTimeUrl, routes, database, stopNotice, close: () => close(nest, database) };
}

/** An auditor who exports the log has the leaf hash of each event, and could guess the key that a person chose. */
const SAFE_KEY_CHARACTERS = 32;

function warnOfShortKey(config: Config, log: ServiceLog): void {
  if ((bootstrapKeyOf(config)?.length ?? SAFE_KEY_CHARACTERS) >= SAFE_KEY_CHARACTERS) return;
  const way = 'make another one with `openssl rand -hex 24`, and delete this one';
  log.warn(
    `the first API key has fewer than ${SAFE_KEY_CHARACTERS} characters: readers of the log could guess it; ${way}`,
  );
}

async function listen(nest: NestFastifyApplication, { port, host }: Config): Promise<void> {
  try {
    // For `localhost` Fastify would start a server for each address, and nothing here would know the further ones.
    await nest.listen(port, (await lookup(host)).address);
  } catch (error) {
    await nest.close();
    throw error;
  }
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
