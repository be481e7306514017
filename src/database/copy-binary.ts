import type { StringCache } from './string-cache.js';

/**
 * COPY's binary format, as PostgreSQL's documentation of COPY describes it. Equal rows are equal bytes, whether this
 * process or PostgreSQL wrote them, and the format needs no escapes.
 */

const SIGNATURE = 'PGCOPY\n\xff\r\n\0';
/** The signature, empty flags, empty extension. */
export const HEADER = Buffer.from(`${SIGNATURE}\0\0\0\0\0\0\0\0`, 'latin1');
/** Stands where a row would have its number of fields. */
export const TRAILER = Buffer.from([0xff, 0xff]);

/** Length of the header that PostgreSQL sends first. */
export const headerLength = (bytes: Buffer): number => HEADER.length + bytes.readUInt32BE(HEADER.length - LENGTH_BYTES);

const COUNT_BYTES = 2;
export const LENGTH_BYTES = 4;
export const NULL_LENGTH = -1;
/** UTF-8 bytes of one UTF-16 code unit. */
const MAX_BYTES_PER_CODE_UNIT = 3;
const SHORT_CHARACTERS = 16;
const LAST_ASCII = 0x7f;

/** Writes rows into one buffer: row objects would live long enough to burden the garbage collector. */
export class RowBytes {
  bytes = Buffer.allocUnsafe(0);
  size = 0;
  private view = viewOf(this.bytes);

  /** `expected`: estimate of the number of bytes. */
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

  /** Throws RangeError if the value is not an integer. */
  int64(value: number | bigint): void {
    this.reserve(2 * LENGTH_BYTES);
    // A BigInt for every row would cost as much as all other numbers of the row.
    if (typeof value === 'number' && Number.isSafeInteger(value)) {
      this.view.setInt32(this.size, Math.floor(value / TWO_TO_32));
      this.view.setInt32(this.size + LENGTH_BYTES, value | 0);
    } else this.view.setBigInt64(this.size, BigInt(value));
    this.size += 2 * LENGTH_BYTES;
  }

  /** Writes the length, then the text. */
  text(value: string): void {
    this.reserve(LENGTH_BYTES + value.length * MAX_BYTES_PER_CODE_UNIT);
    const start = this.size + LENGTH_BYTES;
    const isWritten = value.length <= SHORT_CHARACTERS && this.ascii(value, start);
    const length = isWritten ? value.length : this.bytes.write(value, start);
    this.view.setInt32(this.size, length);
    this.size = start + length;
  }

  /** False if the text is not ASCII. Faster than Buffer's own method for short texts only. */
  private ascii(value: string, start: number): boolean {
    for (let i = 0; i < value.length; i += 1) {
      const code = value.charCodeAt(i);
      if (code > LAST_ASCII) return false;
      this.bytes[start + i] = code;
    }
    return true;
  }

  /** Writes the length of what `write` adds, then that. */
  lengthPrefixed(write: () => void): void {
    this.int32(0);
    const start = this.size;
    write();
    this.view.setInt32(start - LENGTH_BYTES, this.size - start);
  }

  /** Removes the rows and keeps the memory. */
  clear(): void {
    this.size = 0;
  }

  /** Returns the rows and gives up their memory. */
  take(): Buffer {
    const taken = this.bytes.subarray(0, this.size);
    this.use(Buffer.allocUnsafe(0));
    this.size = 0;
    return taken;
  }

  private reserve(more: number): void {
    const minLength = this.size + more;
    if (minLength <= this.bytes.length) return;
    const larger = Buffer.allocUnsafe(Math.max(this.expected, 2 * this.bytes.length, minLength));
    this.bytes.copy(larger, 0, 0, this.size);
    this.use(larger);
  }

  private use(bytes: Buffer<ArrayBuffer>): void {
    this.bytes = bytes;
    this.view = viewOf(bytes);
  }
}

/** A DataView reads and writes numbers several times as fast as Buffer's own methods. */
export const viewOf = ({ buffer, byteOffset, byteLength }: Buffer): DataView =>
  new DataView(buffer, byteOffset, byteLength);

/** Reads the fields of a row in order. */
export class FieldReader {
  /** Offset of the next field's length. */
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

  /** Reads a text that is probably in the cache. */
  cachedText(cache: StringCache): string {
    const start = this.at + LENGTH_BYTES;
    return cache.read(this.bytes, this.view, start, this.skip());
  }

  int32(): number {
    const start = this.at + LENGTH_BYTES;
    this.skip();
    return this.view.getInt32(start);
  }

  /** Reads a double, which is exact up to 2^53. */
  int64(): number {
    const start = this.at + LENGTH_BYTES;
    this.skip();
    return this.view.getInt32(start) * TWO_TO_32 + this.view.getUint32(start + LENGTH_BYTES);
  }

  /** Truncates to milliseconds. An invalid Date if JavaScript has no such time, for example infinity. */
  time(): Date {
    const start = this.at + LENGTH_BYTES;
    this.skip();
    return new Date(timeAt(this.view, start).ms);
  }

  /** Undefined if the field is null. */
  value<T>(read: (bytes: Buffer, start: number, end: number) => T): T | undefined {
    const start = this.at + LENGTH_BYTES;
    if (this.view.getInt32(this.at) !== NULL_LENGTH) return read(this.bytes, start, this.skip());
    this.at = start;
    return undefined;
  }

  /** Skips a field and returns where it ends. */
  skip(): number {
    this.at += LENGTH_BYTES + this.view.getInt32(this.at);
    return this.at;
  }
}

const TWO_TO_32 = 2 ** 32;
/** PostgreSQL counts microseconds from this time. */
export const EPOCH_MS = Date.UTC(2000, 0, 1);

/** Computed in two parts, since microseconds after 2285 exceed exact doubles; 2^32 µs are 4,294,967 ms and 296 µs. */
export function timeAt(view: DataView, at: number): { readonly ms: number; readonly micros: number } {
  const high = view.getInt32(at);
  const rest = high * 296 + view.getUint32(at + LENGTH_BYTES);
  const restMs = Math.floor(rest / 1000);
  return { ms: EPOCH_MS + high * 4_294_967 + restMs, micros: rest - restMs * 1000 };
}

/** Orders rows by their first `fields` fields, which must be texts of collation "C". */
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
