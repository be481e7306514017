import { afterAll, beforeAll } from '@jest/globals';
import type { Config } from '../../src/api/config/config.js';
import { cloneDatabase, type Service, startCopy } from './service.js';

type WithInstance = (settings: Partial<Config>, work: (instance: Service) => Promise<void>) => Promise<void>;

/** Gives each test of a file an instance with its own settings. All of them use one database. */
export function useInstances(): WithInstance {
  let database: Awaited<ReturnType<typeof cloneDatabase>>;
  beforeAll(async () => {
    database = await cloneDatabase();
  });
  afterAll(() => database.drop());
  return async (settings, work) => {
    const instance = await startCopy({ databaseUrl: database.url }, settings);
    await work(instance);
    await instance.stop();
  };
}
