import { AsyncLocalStorage } from 'node:async_hooks';

/**
 * Jest makes a storage for each test file and leaves it enabled, so every promise of the worker's later files costs more:
 * with twenty files a sixth of all CPU. This module is loaded outside of the realms, once for all files of a worker.
 */
const used = new Set();
const { run } = AsyncLocalStorage.prototype;
AsyncLocalStorage.prototype.run = function (...args) {
  used.add(this);
  return run.apply(this, args);
};

export function disableStoragesOfEarlierFiles() {
  for (const storage of used) storage.disable();
  used.clear();
}
