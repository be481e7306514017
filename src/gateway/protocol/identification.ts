import { Violation } from './violation.js';

/** The longest line with its end (RFC 4253, 4.2). */
const MAX_BYTES = 255;

/** The identification line at the beginning of these bytes, without its line end. */
export const lineOf = (data: Buffer): string => data.subarray(0, data.indexOf('\n')).toString('latin1').trimEnd();

/**
 * Waits until the identification line of a client is whole. The library itself loses bytes of a line that comes in
 * three parts.
 */
export class Identification {
  private line: Buffer = Buffer.alloc(0);

  /** All bytes so far once the line is whole; undefined before. Throws Violation if the line is too long. */
  take(data: Buffer): Buffer | undefined {
    const all = this.line.length === 0 ? data : Buffer.concat([this.line, data]);
    const end = all.indexOf('\n');
    if (end >= MAX_BYTES || (end < 0 && all.length >= MAX_BYTES)) {
      throw new Violation('identification', `sent no identification line of at most ${MAX_BYTES} bytes`);
    }
    this.line = end < 0 ? all : Buffer.alloc(0);
    return end < 0 ? undefined : all;
  }
}
