import { execFile } from 'node:child_process';
import { chmod, cp, mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { REPOSITORY } from './documents.js';
import { stopAtEnd } from './leftovers.js';

const run = promisify(execFile);

/** Copies the files of this checkout that a clone would have, with changes that are not committed, to a new folder. */
export async function cloneCheckout(): Promise<string> {
  const folder = await mkdtemp(join(tmpdir(), 'tas-clone-'));
  stopAtEnd(() => rm(folder, { recursive: true, force: true }));
  // If root runs this, the embedded server runs as another user, who must be able to enter the folder.
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
