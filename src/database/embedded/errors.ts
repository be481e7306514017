import path from 'node:path';
import { types } from 'node:util';
import { OperatorError } from '../../kernel/operator-error.js';

/**
 * Calls `work` with the absolute path of a DATA_DIR. If a system call fails (permissions, a full or read-only disk, a
 * file in the way), the error names DATA_DIR.
 */
export async function onDataDir<T>(dataDir: string, work: (resolved: string) => Promise<T>): Promise<T> {
  const resolved = path.resolve(dataDir);
  return work(resolved).catch((error: unknown) => {
    if (!types.isNativeError(error) || !('syscall' in error)) throw error;
    throw new OperatorError(
      `DATA_DIR ${resolved} cannot be used (${error.message}): start the service as the user who owns it, ` +
        'or set DATA_DIR to a folder that this user can write to, or set DATABASE_URL to a PostgreSQL server.',
      { cause: error },
    );
  });
}

/** For `catch`: turns a missing file into undefined, and rethrows any other error. */
export function ignoreMissing(error: NodeJS.ErrnoException): undefined {
  if (error.code !== 'ENOENT' && error.code !== 'ENOTDIR') throw error;
}

/** For `catch`: another start created the same file or folder first, which is equally good. */
export function ignoreExisting(error: NodeJS.ErrnoException): void {
  if (error.code !== 'EEXIST' && error.code !== 'ENOTEMPTY') throw error;
}
