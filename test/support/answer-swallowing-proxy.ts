import { mkdtemp, rm } from 'node:fs/promises';
import { createConnection, createServer, type Socket } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { type App, createApp } from '../../src/api/app.js';
import type { Config } from '../../src/api/config/config.js';
import { cloneDatabase, testConfig } from './service.js';

/** A proxy between the service and PostgreSQL that can lose the answer to an executed statement. */
export interface SwallowingProxy {
  readonly url: string;
  /** Drops the next answer of the server and cuts its connection. */
  swallowNextAnswer(): void;
  readonly swallowed: number;
  /** Cuts every connection and refuses new ones until `comeBack`. */
  goAway(): void;
  comeBack(): void;
  close(): Promise<void>;
}

export async function startSwallowingProxy(databaseUrl: string): Promise<SwallowingProxy> {
  const target = new URL(databaseUrl);
  const socketPath = `${decodeURIComponent(target.hostname)}/.s.PGSQL.${target.port}`;
  const folder = await mkdtemp(join(tmpdir(), 'tas-proxy-'));
  const open = new Set<Socket>();
  let armed = false;
  let swallowed = 0;
  let isAway = false;
  const server = createServer((client) => {
    if (isAway) return void client.destroy();
    const upstream = createConnection(socketPath);
    for (const socket of [client, upstream]) {
      open.add(socket);
      socket.on('error', () => undefined).on('close', () => open.delete(socket));
    }
    client.on('data', (data) => upstream.write(data)).on('close', () => upstream.destroy());
    upstream.on('close', () => client.destroy());
    upstream.on('data', (data) => {
      if (!armed) return void client.write(data);
      armed = false;
      swallowed += 1;
      client.destroy();
    });
  });
  await new Promise<void>((resolve) => server.listen(join(folder, '.s.PGSQL.5432'), resolve));
  return {
    url: `postgres://postgres@${encodeURIComponent(folder)}:5432${target.pathname}`,
    swallowNextAnswer: () => {
      armed = true;
    },
    get swallowed() {
      return swallowed;
    },
    goAway: () => {
      isAway = true;
      for (const socket of open) socket.destroy();
    },
    comeBack: () => {
      isAway = false;
    },
    close: async () => {
      for (const socket of open) socket.destroy();
      await new Promise((resolve) => server.close(resolve));
      await rm(folder, { recursive: true, force: true });
    },
  };
}

/** A service whose database can go away. */
export async function withDatabaseThatGoes(
  use: (app: App, proxy: SwallowingProxy) => Promise<void>,
  settings: Partial<Config> = {},
): Promise<void> {
  const database = await cloneDatabase();
  const proxy = await startSwallowingProxy(database.url);
  const app = await createApp(testConfig(proxy.url, settings));
  await use(app, proxy);
  await app.close();
  await proxy.close();
  await database.drop();
}
