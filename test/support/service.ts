import 'reflect-metadata';
import { randomBytes } from 'node:crypto';
import type pg from 'pg';
import { type App, createApp } from '../../src/api/app.js';
import { type Config, readConfig } from '../../src/api/config/config.js';
import { ApiClient } from './api-client.js';
import { stopAtEnd } from './leftovers.js';
import { asServer } from './outside/server.mjs';

const serverUrl = (): string => {
  const url = process.env.TEST_POSTGRES_URL;
  if (url === undefined) throw new Error('TEST_POSTGRES_URL is not set; run the tests with `npm test`');
  return url;
};

export interface TestDatabase {
  readonly url: string;
  drop(): Promise<void>;
}

/** A new database, cloned from the migrated template, or from a database without connections. */
export const cloneDatabase = (from?: TestDatabase): Promise<TestDatabase> =>
  emptyDatabase(
    `template ${from === undefined ? 'template_tas' : new URL(from.url).pathname.slice(1)} strategy file_copy`,
  );

/** A database without tables. `options`: further options of `create database`. */
export async function emptyDatabase(options = ''): Promise<TestDatabase> {
  const name = `test_${randomBytes(8).toString('hex')}`;
  const server = serverUrl();
  await asServer(server, `create database ${name} ${options}`);
  return { url: `${server}/${name}`, drop: () => asServer(server, `drop database ${name} with (force)`) };
}

export interface Service {
  readonly app: App;
  /** Calls as the first account's admin. */
  readonly admin: ApiClient;
  /** Calls as an SSH gateway; the service must be started with GATEWAY. */
  readonly gateway: ApiClient;
  readonly pool: pg.Pool;
  readonly databaseUrl: string;
  stop(): Promise<void>;
}

export const ADMIN_KEY = 'test-admin-key-0123456789';

export const GATEWAY_TOKEN = 'test-gateway-token-0123456789';
/** The setting that lets a service answer gateways. */
export const GATEWAY = { gatewayTokens: [{ token: GATEWAY_TOKEN }] };

export const testConfig = (databaseUrl: string, settings: Partial<Config> = {}): Config => ({
  ...readConfig({ PORT: '0', DATABASE_URL: databaseUrl, BOOTSTRAP_API_KEY: ADMIN_KEY, LOG_LEVEL: 'error' }),
  ...settings,
});

/** Another instance of the service on the same database. */
export async function startCopy(
  service: Pick<Service, 'databaseUrl'>,
  settings: Partial<Config> = {},
  databaseUrl = service.databaseUrl,
): Promise<Service> {
  const app = await createApp(testConfig(databaseUrl, settings));
  return {
    app,
    admin: new ApiClient(app.url, ADMIN_KEY),
    gateway: new ApiClient(app.url, GATEWAY_TOKEN),
    pool: app.database.pool,
    databaseUrl,
    stop: stopAtEnd(() => app.close()),
  };
}

/** The real service with real HTTP on a free port, on its own real database. */
export async function startService(settings: Partial<Config> = {}): Promise<Service> {
  const database = await cloneDatabase();
  const service = await startCopy({ databaseUrl: database.url }, settings);
  return {
    ...service,
    stop: stopAtEnd(async () => {
      await service.stop();
      await database.drop();
    }),
  };
}
