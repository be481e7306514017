import { EPOCH_MS, LENGTH_BYTES, NULL_LENGTH, type RowBytes, timeAt, viewOf } from './copy-binary.js';

/**
 * Writes and reads values of one PostgreSQL type in COPY's binary format, the bytes of the type's own send function.
 * Values have the form that they have in JSON.
 */
export interface Codec<T = unknown> {
  /** Writes the length, then the value. */
  readonly write: (value: T, to: RowBytes) => void;
  readonly read: (bytes: Buffer, start: number, end: number) => T;
}

/** `type`: the name by format_type, without a modifier. Undefined for a type that no read model's column has. */
export const codecOf = (type: string): Codec | undefined => CODECS.get(type);

const TEXT: Codec<string> = {
  write: (value, to) => to.text(value),
  read: (bytes, start, end) => bytes.toString('utf8', start, end),
};

const BOOLEAN: Codec<boolean> = {
  write: (value, to) => {
    to.int32(1);
    to.byte(value === true ? 1 : 0);
  },
  read: (bytes, start) => bytes[start] === 1,
};

const INTEGER: Codec<number> = {
  write: (value, to) => {
    if ((value | 0) !== value) throw new RangeError(`${value} is not an integer`);
    to.int32(4);
    to.int32(value);
  },
  read: (bytes, start) => bytes.readInt32BE(start),
};

const BIGINT: Codec<number> = {
  write: (value, to) => {
    to.int32(8);
    to.int64(value);
  },
  read: (bytes, start) => Number(bytes.readBigInt64BE(start)),
};

/** Writes milliseconds, the precision of a Date; reads microseconds, as RFC 3339. */
const TIMESTAMP: Codec<Date | string> = {
  write: (value, to) => {
    to.int32(8);
    const ms = (typeof value === 'string' ? new Date(value) : value).getTime() - EPOCH_MS;
    const micros = ms * 1000;
    to.int64(Number.isSafeInteger(micros) ? micros : BigInt(ms) * 1000n);
  },
  read: (bytes, start) => {
    const { ms, micros } = timeAt(viewOf(bytes), start);
    const date = new Date(ms);
    // PostgreSQL has infinite times, and times beyond the range of a Date.
    if (Number.isNaN(date.getTime())) return ms < 0 ? '-infinity' : 'infinity';
    const iso = date.toISOString();
    return micros === 0 ? iso : `${iso.slice(0, -1)}${String(micros).padStart(3, '0')}Z`;
  },
};

const OID_OF_TEXT = 25;
/** Number of dimensions, flags, type of the elements. */
const ARRAY_HEADER_BYTES = 12;
/** Number of elements, index of the first one. */
const DIMENSION_BYTES = 8;

/**
 * The service writes one-dimensional arrays without nulls, but others may have edited the column. An array of another
 * shape is read as a nested list, which differs from every list that the service writes.
 */
const TEXT_ARRAY: Codec<readonly unknown[]> = {
  write: (values, to) =>
    to.lengthPrefixed(() => {
      to.int32(values.length === 0 ? 0 : 1);
      to.int32(0);
      to.int32(OID_OF_TEXT);
      if (values.length === 0) return;
      to.int32(values.length);
      to.int32(1);
      for (const value of values) to.text(String(value));
    }),
  read: (bytes, start, end) => {
    const texts: (string | null)[] = [];
    const dimensions = bytes.readInt32BE(start);
    let at = start + ARRAY_HEADER_BYTES + DIMENSION_BYTES * dimensions;
    const isList = dimensions === 0 || (dimensions === 1 && bytes.readInt32BE(at - LENGTH_BYTES) === 1);
    while (at < end) {
      const length = bytes.readInt32BE(at);
      at += LENGTH_BYTES;
      texts.push(length === NULL_LENGTH ? null : bytes.toString('utf8', at, at + length));
      at += Math.max(length, 0);
    }
    return isList ? texts : [texts];
  },
};

const JSONB_VERSION = 1;

const JSONB: Codec = {
  write: (value, to) => {
    to.text(`${String.fromCharCode(JSONB_VERSION)}${jsonbText(value)}`);
  },
  read: (bytes, start, end) => JSON.parse(bytes.toString('utf8', start + 1, end)),
};

/** JSON in the spelling that PostgreSQL prints. */
function jsonbText(value: unknown): string {
  if (typeof value === 'boolean') return value ? 'true' : 'false';
  if (typeof value !== 'object' || value === null) return JSON.stringify(value);
  if (Array.isArray(value)) return `[${value.map(jsonbText).join(', ')}]`;
  let members = '';
  for (const { name, text } of membersOf(value)) {
    const member = (value as Record<string, unknown>)[name];
    if (member !== undefined) members += `${members === '' ? '' : ', '}${text}: ${jsonbText(member)}`;
  }
  return `{${members}}`;
}

interface Member {
  readonly name: string;
  readonly text: string;
}

/** The keys of an object, in insertion order and in PostgreSQL's order. */
interface KeyOrder {
  readonly inserted: readonly string[];
  readonly sorted: readonly Member[];
}

/** Cache: few sets of keys recur, and to sort one costs more than the rest of the value. */
const KEY_ORDERS: KeyOrder[] = [];
const MAX_KEY_ORDERS = 16;
let oldest = 0;

function membersOf(value: object): readonly Member[] {
  for (const { inserted, sorted } of KEY_ORDERS) if (hasKeys(value, inserted)) return sorted;
  const inserted = Object.keys(value);
  const sorted = [...inserted].sort(compareJsonbKeys).map((name) => ({ name, text: JSON.stringify(name) }));
  KEY_ORDERS[oldest] = { inserted, sorted };
  oldest = (oldest + 1) % MAX_KEY_ORDERS;
  return sorted;
}

function hasKeys(value: object, names: readonly string[]): boolean {
  let i = 0;
  for (const name in value) {
    if (name !== names[i]) return false;
    i += 1;
  }
  return i === names.length;
}

/** jsonb stores keys by length, then by bytes. */
const compareJsonbKeys = (a: string, b: string): number =>
  Buffer.byteLength(a) - Buffer.byteLength(b) || Buffer.compare(Buffer.from(a), Buffer.from(b));

/** The types that the migrations use, and types that an operator can alter a column to without harm. */
const CODECS: ReadonlyMap<string, Codec> = new Map<string, unknown>([
  ['text', TEXT],
  ['character varying', TEXT],
  ['boolean', BOOLEAN],
  ['integer', INTEGER],
  ['bigint', BIGINT],
  ['timestamp with time zone', TIMESTAMP],
  ['text[]', TEXT_ARRAY],
  ['jsonb', JSONB],
]) as ReadonlyMap<string, Codec>;
