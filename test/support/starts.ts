import { chmod, mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach } from '@jest/globals';
import { ApiClient } from './api-client.js';
import { type RunningMain, startMain, stopMain } from './process.js';

let folder: string;
let started: RunningMain[];

/** Gives each test of a file its own folder, and stops the processes that it started there. */
export function useStarts(): void {
  beforeEach(async () => {
    folder = await mkdtemp(join(tmpdir(), 'tas-start-'));
    // As root the embedded server runs as another user, which must be able to enter the folder.
    await chmod(folder, 0o711);
    started = [];
  });
  afterEach(async () => {
    for (const main of started) if (main.child.exitCode === null) await stopMain(main);
    // If a service was killed, its server ends a moment later.
    await rm(folder, { recursive: true, force: true, maxRetries: 10 });
  });
}

export const dataDir = (): string => join(folder, 'data');

/** Starts the program with its data in the test's folder. */
export function start(settings: Record<string, string> = {}): RunningMain {
  const main = startMain({ DATA_DIR: dataDir(), ...settings });
  started.push(main);
  return main;
}

export const statusOf = async (url: string, key: string): Promise<number> =>
  (await new ApiClient(url, key).get('/ssh_credentials')).status;
