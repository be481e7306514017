import { randomUUID } from 'node:crypto';
import { createWriteStream } from 'node:fs';
import { lstat, open, rename, rm } from 'node:fs/promises';
import path from 'node:path';
import type { Writable } from 'node:stream';
import { messageOf } from '../../kernel/error-message.js';
import { UsageError } from '../../kernel/operator-error.js';

/** Throws UsageError if something other than a file has this name. */
async function refuseOther(file: string): Promise<void> {
  const found = await lstat(file).catch(() => undefined);
  if (found?.isFile() === false) throw new UsageError(`${file} exists, and is not a file`);
}

/**
 * Writes a file that only its owner can read, and replaces an existing one. The file gets its name when its last byte
 * is on the disk, so a file of this name is complete. After a crash a `.partial-` file may remain.
 */
export async function writeWholeFile<T>(file: string, write: (output: Writable) => Promise<T>): Promise<T> {
  const draft = `${file}.partial-${randomUUID().slice(0, 8)}`;
  const handle = await open(draft, 'wx', 0o600).catch((error) => {
    throw new UsageError(`the file cannot be written: ${messageOf(error)}`);
  });
  try {
    const result = await write(createWriteStream(draft, { fd: handle.fd, autoClose: false }));
    await handle.sync();
    await handle.close();
    await refuseOther(file);
    await rename(draft, file);
    await syncFolder(path.dirname(file));
    return result;
  } catch (error) {
    await handle.close().catch(() => undefined);
    await rm(draft, { force: true });
    throw error;
  }
}

/** Without this a power failure could lose the new name. */
async function syncFolder(folder: string): Promise<void> {
  const handle = await open(folder);
  await handle.sync().finally(() => handle.close());
}
