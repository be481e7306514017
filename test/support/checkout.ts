import { execFile } from 'node:child_process';
import { chmod, cp, mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { REPOSITORY } from './documents.js';
import { stopAtEnd } from './leftovers.js';

const run = promisify(execFile);

/** The files that a clone of this checkout would have, with changes that are not committed yet, in a folder of their own. */
export async function cloneCheckout(): Promise<string> {
  const folder = await mkdtemp(join(tmpdir(), 'tas-clone-'));
  stopAtEnd(() => rm(folder, { recursive: true, force: true }));
  // As root the embedded server runs as another user, which must be able to enter the folder.
  await chmod(folder, 0o755);
  const { stdout } = await run('git', ['ls-files', '-z', '--cached', '--others', '--exclude-standard'], {
    cwd: REPOSITORY,
  });
  const files = stdout.split('\0').filter((file) => file !== '');
  for (const file of files) await cp(join(REPOSITORY, file), join(folder, file)).catch(ignoreDeleted);
  return folder;
}

function ignoreDeleted(error: NodeJS.ErrnoException): void {
  if (error.code !== 'ENOENT') throw error;
}
