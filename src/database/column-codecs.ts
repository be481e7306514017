import { EPOCH_MS, LENGTH_BYTES, NULL_LENGTH, type RowBytes, timeAt, viewOf } from './copy-binary.js';

/**
 * How values of one type, in the form they have in JSON, are written to a row of COPY's binary format and read from it: as
 * the type's own send function writes them.
 */
export interface Codec<T = unknown> {
  /** With the length before it. */
  readonly write: (value: T, to: RowBytes) => void;
  readonly read: (bytes: Buffer, start: number, end: number) => T;
}

/** Undefined for a type (as format_type names it, without its modifier) that no column of a read model has. */
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

/** Written to the millisecond that a Date knows; read to the microsecond, as RFC 3339. */
const TIME: Codec<Date | string> = {
  write: (value, to) => {
    to.int32(8);
    const ms = (typeof value === 'string' ? new Date(value) : value).getTime() - EPOCH_MS;
    const micros = ms * 1000;
    to.int64(Number.isSafeInteger(micros) ? micros : BigInt(ms) * 1000n);
  },
  read: (bytes, start) => {
    const { ms, micros } = timeAt(viewOf(bytes), start);
    const date = new Date(ms);
    // PostgreSQL has infinite times, and goes on for longer than JavaScript.
    if (Number.isNaN(date.getTime())) return ms < 0 ? '-infinity' : 'infinity';
    const iso = date.toISOString();
    return micros === 0 ? iso : `${iso.slice(0, -1)}${String(micros).padStart(3, '0')}Z`;
  },
};

const OID_OF_TEXT = 25;
/** How many dimensions, flags, the elements' type. */
const ARRAY_HEADER_BYTES = 12;
/** How many elements, the first one's number. */
const DIMENSION_BYTES = 8;

/** What others put there may hold nulls; an array of another shape is read as a list in a list, which ours never is. */
const TEXTS: Codec<readonly unknown[]> = {
  write: (values, to) =>
    to.measured(() => {
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

/** As PostgreSQL prints it. */
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

/** The names of an object, as they come in it, and in PostgreSQL's order. */
interface Names {
  readonly asMade: readonly string[];
  readonly sorted: readonly Member[];
}

/** Few sets of names come again and again, and to sort one costs more than all the rest of a value. */
const KNOWN: Names[] = [];
const MOST_KNOWN = 16;
let oldest = 0;

function membersOf(value: object): readonly Member[] {
  for (const { asMade, sorted } of KNOWN) if (hasNames(value, asMade)) return sorted;
  const asMade = Object.keys(value);
  const sorted = [...asMade].sort(inOrder).map((name) => ({ name, text: JSON.stringify(name) }));
  KNOWN[oldest] = { asMade, sorted };
  oldest = (oldest + 1) % MOST_KNOWN;
  return sorted;
}

function hasNames(value: object, names: readonly string[]): boolean {
  let i = 0;
  for (const name in value) {
    if (name !== names[i]) return false;
    i += 1;
  }
  return i === names.length;
}

/** PostgreSQL keeps names by length, then by bytes. */
const inOrder = (a: string, b: string): number =>
  Buffer.byteLength(a) - Buffer.byteLength(b) || Buffer.compare(Buffer.from(a), Buffer.from(b));

/** The types that the migrations use, and those that a column is altered to by hand without harm. */
const CODECS: ReadonlyMap<string, Codec> = new Map<string, unknown>([
  ['text', TEXT],
  ['character varying', TEXT],
  ['boolean', BOOLEAN],
  ['integer', INTEGER],
  ['bigint', BIGINT],
  ['timestamp with time zone', TIME],
  ['text[]', TEXTS],
  ['jsonb', JSONB],
]) as ReadonlyMap<string, Codec>;
