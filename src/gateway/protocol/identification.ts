import { Violation } from './violation.js';

/** RFC 4253, 4.2: the length of the line with its end. */
const MAX_BYTES = 255;

/** The identification line at the begin of these bytes, without its end. */
export const lineOf = (data: Buffer): string => data.subarray(0, data.indexOf('\n')).toString('latin1').trimEnd();

/**
 * Waits for the identification line of a client. The library forgets bytes of a line that comes in three parts, and reads
 * all of it anew for each part.
 */
export class Identification {
  private line: Buffer = Buffer.alloc(0);

  /** Everything that has come once the line is whole; undefined before. Throws Violation if it is too long. */
  take(data: Buffer): Buffer | undefined {
    const all = this.line.length === 0 ? data : Buffer.concat([this.line, data]);
    const end = all.indexOf('\n');
    if (end >= MAX_BYTES || (end < 0 && all.length >= MAX_BYTES)) {
      throw new Violation('identification', `sent no line of at most ${MAX_BYTES} bytes`);
    }
    this.line = end < 0 ? all : Buffer.alloc(0);
    return end < 0 ? undefined : all;
  }
}
