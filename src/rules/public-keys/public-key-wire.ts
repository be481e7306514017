import { refusal } from './public-key-type.js';

/** RFC 4251 strings and integers: the encoding of the fields of a key. */

const LENGTH_BYTES = 4;

/** Reads the length-prefixed fields of a wire form one by one. The caller calls `end` after the last field. */
export class WireFields {
  private at = 0;

  constructor(private readonly wire: Buffer) {}

  next(): Buffer {
    const start = this.at + LENGTH_BYTES;
    if (start > this.wire.length) throw cutOff();
    const end = start + this.wire.readUInt32BE(this.at);
    if (end > this.wire.length) throw cutOff();
    this.at = end;
    return this.wire.subarray(start, end);
  }

  end(): void {
    if (this.at === this.wire.length) return;
    throw refusal('public_key has bytes after the end of its key; copy it again.');
  }
}

const cutOff = () => refusal('public_key ends in the middle of its key; copy the whole of it.');

/** The wire form of the type's name and these fields. */
export function wireOf(type: string, ...fields: readonly Buffer[]): Buffer {
  return Buffer.concat([Buffer.from(type), ...fields].flatMap((field) => [lengthOf(field), field]));
}

function lengthOf(field: Buffer): Buffer {
  const length = Buffer.alloc(LENGTH_BYTES);
  length.writeUInt32BE(field.length);
  return length;
}

/** A positive integer as SSH writes it. The first bit is the sign, so a zero byte goes in front if that bit is set. */
export function mpint(magnitude: Buffer): Buffer {
  return (magnitude[0] ?? 0) < 0x80 ? magnitude : Buffer.concat([Buffer.of(0), magnitude]);
}

/** The size in bits of a positive integer in its shortest form. A longer form would give a key two fingerprints. */
export function bitsOfMpint(field: Buffer): number {
  const [first = 0, second = 0] = field;
  // Also true of an empty field, which is how SSH writes zero.
  const isPadded = first === 0 && second < 0x80;
  if (first >= 0x80 || isPadded) {
    throw refusal('public_key holds a number that is not positive or not in its shortest form; make a new key.');
  }
  return field.length * 8 - (first === 0 ? 8 : Math.clz32(first) - 24);
}
