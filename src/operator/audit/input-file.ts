import { open } from 'node:fs/promises';
import type { Readable } from 'node:stream';
import { messageOf } from '../../kernel/error-message.js';
import { UsageError } from '../../kernel/operator-error.js';

/** Opens the input file of a command. `writer`: the command that writes such files. `-` means stdin. */
export async function openInput(file: string, writer: string): Promise<Readable> {
  if (file === '-') return process.stdin;
  try {
    const handle = await open(file);
    if (!(await handle.stat()).isDirectory()) return handle.createReadStream();
    await handle.close();
  } catch (error) {
    throw new UsageError(`the file cannot be read: ${messageOf(error)}`);
  }
  throw new UsageError(`${file} is a directory, not a file that ${writer} wrote`);
}
