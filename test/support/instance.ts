import { createApp } from '../../src/api/app.js';
import type { Config } from '../../src/api/config/config.js';
import { ApiClient } from './api-client.js';
import { stopAtEnd } from './leftovers.js';
import { ADMIN_KEY, GATEWAY, GATEWAY_TOKEN, testConfig } from './service.js';

export interface Instance {
  readonly url: string;
  readonly admin: ApiClient;
  readonly gateway: ApiClient;
  stop(): Promise<void>;
}

/** An instance of the service on a database that the test has made, which answers gateways too. */
export async function startInstance(databaseUrl: string, settings: Partial<Config> = {}): Promise<Instance> {
  const app = await createApp(testConfig(databaseUrl, { ...GATEWAY, ...settings }));
  return {
    url: app.url,
    admin: new ApiClient(app.url, ADMIN_KEY),
    gateway: new ApiClient(app.url, GATEWAY_TOKEN),
    stop: stopAtEnd(() => app.close()),
  };
}
