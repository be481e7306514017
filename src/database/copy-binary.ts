import type { StringCache } from './string-cache.js';

/**
 * COPY's binary format, as PostgreSQL's documentation of COPY gives it: every row has one form in bytes, whether it is
 * made here or read, and it needs no escapes.
 */

const SIGNATURE = 'PGCOPY\n\xff\r\n\0';
/** The signature, no flags, no extension. */
export const HEADER = Buffer.from(`${SIGNATURE}\0\0\0\0\0\0\0\0`, 'latin1');
/** In the place of a row's number of fields. */
export const TRAILER = Buffer.from([0xff, 0xff]);

/** How long the header at the beginning of what PostgreSQL sends is. */
export const bytesOfHeader = (bytes: Buffer): number =>
  HEADER.length + bytes.readUInt32BE(HEADER.length - LENGTH_BYTES);

const COUNT_BYTES = 2;
export const LENGTH_BYTES = 4;
export const NULL_LENGTH = -1;
const MOST_BYTES_OF_A_CHARACTER = 3;
const SHORT_CHARACTERS = 16;
const LAST_ASCII = 0x7f;

/** Rows as they are made, in one piece of memory: as objects they would live long enough to burden the collector. */
export class RowBytes {
  bytes = Buffer.allocUnsafe(0);
  size = 0;
  private view = viewOf(this.bytes);

  /** `expected`: how many bytes there will be, more or less. */
  constructor(private readonly expected: number) {}

  beginRow(fields: number): void {
    this.reserve(COUNT_BYTES);
    this.view.setInt16(this.size, fields);
    this.size += COUNT_BYTES;
  }

  null(): void {
    this.int32(NULL_LENGTH);
  }

  byte(value: number): void {
    this.reserve(1);
    this.view.setUint8(this.size, value);
    this.size += 1;
  }

  int32(value: number): void {
    this.reserve(LENGTH_BYTES);
    this.view.setInt32(this.size, value);
    this.size += LENGTH_BYTES;
  }

  /** Throws RangeError for what is no integer. */
  int64(value: number | bigint): void {
    this.reserve(2 * LENGTH_BYTES);
    // A BigInt for every row would cost as much as all its other numbers.
    if (typeof value === 'number' && Number.isSafeInteger(value)) {
      this.view.setInt32(this.size, Math.floor(value / TWO_TO_32));
      this.view.setInt32(this.size + LENGTH_BYTES, value | 0);
    } else this.view.setBigInt64(this.size, BigInt(value));
    this.size += 2 * LENGTH_BYTES;
  }

  /** With its length before it. */
  text(value: string): void {
    this.reserve(LENGTH_BYTES + value.length * MOST_BYTES_OF_A_CHARACTER);
    const start = this.size + LENGTH_BYTES;
    const isWritten = value.length <= SHORT_CHARACTERS && this.ascii(value, start);
    const length = isWritten ? value.length : this.bytes.write(value, start);
    this.view.setInt32(this.size, length);
    this.size = start + length;
  }

  /** False for what is not ASCII. Faster than Buffer's own method, but only for short texts. */
  private ascii(value: string, start: number): boolean {
    for (let i = 0; i < value.length; i += 1) {
      const code = value.charCodeAt(i);
      if (code > LAST_ASCII) return false;
      this.bytes[start + i] = code;
    }
    return true;
  }

  /** What `write` writes, with its length before it. */
  measured(write: () => void): void {
    this.int32(0);
    const start = this.size;
    write();
    this.view.setInt32(start - LENGTH_BYTES, this.size - start);
  }

  /** Lets the same memory take other rows. */
  clear(): void {
    this.size = 0;
  }

  /** Takes the rows out. */
  take(): Buffer {
    const taken = this.bytes.subarray(0, this.size);
    this.hold(Buffer.allocUnsafe(0));
    this.size = 0;
    return taken;
  }

  private reserve(more: number): void {
    const least = this.size + more;
    if (least <= this.bytes.length) return;
    const larger = Buffer.allocUnsafe(Math.max(this.expected, 2 * this.bytes.length, least));
    this.bytes.copy(larger, 0, 0, this.size);
    this.hold(larger);
  }

  private hold(bytes: Buffer<ArrayBuffer>): void {
    this.bytes = bytes;
    this.view = viewOf(bytes);
  }
}

/** Reads and writes numbers several times as fast as Buffer's own methods. */
export const viewOf = ({ buffer, byteOffset, byteLength }: Buffer): DataView =>
  new DataView(buffer, byteOffset, byteLength);

/** Reads the fields of a row one after the other. */
export class FieldReader {
  /** Where the next field begins, with its length. */
  private at = 0;
  private readonly view: DataView;

  constructor(private readonly bytes: Buffer) {
    this.view = viewOf(bytes);
  }

  beginRow(start: number): void {
    this.at = start + COUNT_BYTES;
  }

  text(): string {
    const start = this.at + LENGTH_BYTES;
    return this.bytes.toString('utf8', start, this.skip());
  }

  /** A text that has mostly come before. */
  recurring(texts: StringCache): string {
    const start = this.at + LENGTH_BYTES;
    return texts.read(this.bytes, this.view, start, this.skip());
  }

  int32(): number {
    const start = this.at + LENGTH_BYTES;
    this.skip();
    return this.view.getInt32(start);
  }

  /** As a double, which is exact up to 2^53. */
  int64(): number {
    const start = this.at + LENGTH_BYTES;
    this.skip();
    return this.view.getInt32(start) * TWO_TO_32 + this.view.getUint32(start + LENGTH_BYTES);
  }

  /** To the millisecond; what is below is cut off. Invalid where JavaScript has no such time, as for infinity. */
  time(): Date {
    const start = this.at + LENGTH_BYTES;
    this.skip();
    return new Date(timeAt(this.view, start).ms);
  }

  /** Undefined for null. */
  value<T>(read: (bytes: Buffer, start: number, end: number) => T): T | undefined {
    const start = this.at + LENGTH_BYTES;
    if (this.view.getInt32(this.at) !== NULL_LENGTH) return read(this.bytes, start, this.skip());
    this.at = start;
    return undefined;
  }

  /** Passes a field over; answers where it ends. */
  skip(): number {
    this.at += LENGTH_BYTES + this.view.getInt32(this.at);
    return this.at;
  }
}

const TWO_TO_32 = 2 ** 32;
/** PostgreSQL's times count microseconds from here. */
export const EPOCH_MS = Date.UTC(2000, 0, 1);

/** Taken apart, since microseconds after 2285 are no exact doubles: 2^32 of them are 4,294,967 ms and 296 µs. */
export function timeAt(view: DataView, at: number): { readonly ms: number; readonly micros: number } {
  const high = view.getInt32(at);
  const rest = high * 296 + view.getUint32(at + LENGTH_BYTES);
  const restMs = Math.floor(rest / 1000);
  return { ms: EPOCH_MS + high * 4_294_967 + restMs, micros: rest - restMs * 1000 };
}

/** Orders rows by their first fields, which are texts of collation "C". */
export function compareKeys(a: Buffer, startA: number, b: Buffer, startB: number, fields: number): number {
  let [atA, atB] = [startA + COUNT_BYTES, startB + COUNT_BYTES];
  for (let i = 0; i < fields; i += 1) {
    const endA = atA + LENGTH_BYTES + a.readInt32BE(atA);
    const endB = atB + LENGTH_BYTES + b.readInt32BE(atB);
    const order = a.compare(b, atB + LENGTH_BYTES, endB, atA + LENGTH_BYTES, endA);
    if (order !== 0) return order;
    [atA, atB] = [endA, endB];
  }
  return 0;
}
