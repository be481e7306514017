import type { Readable } from 'node:stream';
import { LogFileError } from '../../event-log/index.js';

/** A longer line is an error: a request may have a megabyte, and its event is not much larger. */
const MAX_LINE_CHARACTERS = 16 * 1024 * 1024;

/**
 * The lines of a UTF-8 stream, in lists. The last line must end with a line feed too: else a cut file could pass for a
 * whole one.
 */
export async function* linesOf(input: Readable): AsyncGenerator<readonly string[]> {
  let rest = '';
  let count = 0;
  const text = input.setEncoding('utf8');
  for await (const chunk of text as AsyncIterable<string>) {
    const lines = (rest + chunk).split('\n');
    rest = lines.pop() ?? '';
    count += lines.length;
    if (rest.length > MAX_LINE_CHARACTERS) throw new LogFileError(`line ${count + 1}: it is longer than any event`);
    yield lines;
  }
  if (rest !== '') throw new LogFileError(`line ${count + 1}: the file ends in the middle of this line`);
}
