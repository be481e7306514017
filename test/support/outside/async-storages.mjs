import { AsyncLocalStorage } from 'node:async_hooks';

/**
 * Jest makes an AsyncLocalStorage for each test file and leaves it enabled, which slows down every promise in later
 * files of the worker. This module disables them. It is loaded outside of the realms, once for all files of a worker.
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
