import { types } from 'node:util';
import { OperatorError } from '../../operator-error.js';

/** Why the embedded PostgreSQL cannot serve. `message` is written for the person at the terminal: what is wrong, and the ways out. */
export class EmbeddedPostgresError extends OperatorError {
  override readonly name = 'EmbeddedPostgresError';
}

/** What the system refused (permissions, a full or read-only disk, a file in the way), told as a refusal of DATA_DIR. */
export function explained(error: unknown, dataDir: string): unknown {
  if (!types.isNativeError(error) || !('syscall' in error)) return error;
  return new EmbeddedPostgresError(
    `DATA_DIR ${dataDir} cannot be used (${error.message}): start the service as the user who owns it, ` +
      'or set DATA_DIR to a folder this user may write, or set DATABASE_URL to a PostgreSQL server.',
    { cause: error },
  );
}

/** For `catch`: a file that is not there is undefined, any other failure stays one. */
export function absent(error: NodeJS.ErrnoException): undefined {
  if (error.code !== 'ENOENT' && error.code !== 'ENOTDIR') throw error;
}

/** For `catch`: another start made the same thing first, which is as good. */
export function ignoreExisting(error: NodeJS.ErrnoException): void {
  if (error.code !== 'EEXIST' && error.code !== 'ENOTEMPTY') throw error;
}
