import { unescapeBytes, unescaped } from '../../database/copy/copy-text.js';
import { HASH_BYTES } from '../tree/merkle-tree.js';
import type { ByteRange } from './compact-json.js';
import { EventChecks, type EventFault, type KnownTypes } from './event-checks.js';
import type { CheckedEvent } from './log-checks.js';
import { type JsonBytes, type LoggedEvent, timeText } from './logged-event.js';

/** SQL for the columns of an event in the order in which `eventOf` reads them. */
export const COPIED_COLUMNS = `account_id, position, stream_id, stream_version, event_id, type,
  ${timeText('occurred_at')}, ${timeText('recorded_at')}, encode(leaf_hash, 'hex'), metadata, data`;

/** What the checks say of some events, in a form that threads can send each other at little cost. */
export interface CheckedPart {
  readonly positions: readonly number[];
  /** The hashes that the events should have, one after the other. */
  readonly hashes: Uint8Array;
  /** By the place of the event in this part; few have any. */
  readonly faults: ReadonlyMap<number, readonly EventFault[]>;
}

/** Some events of a log, as COPY sends them. */
export interface CopiedPart {
  /** Whole lines. */
  readonly lines: Uint8Array;
  /** recorded_at of the event before; empty for the first part. */
  readonly after: string;
}

export async function* partsOf(copied: AsyncIterable<Buffer>): AsyncGenerator<CopiedPart> {
  let after = '';
  for await (const lines of copied) {
    // Read first, since the check of a part changes its bytes.
    const last = lines.toString('latin1', lines.lastIndexOf('\n', -2) + 1).split('\t')[RECORDED_AT] ?? '';
    yield { lines, after };
    after = last;
  }
}

/** Needs nothing of other parts, so that threads can check several at once. Changes the bytes of the part. */
export function checkPart(types: KnownTypes, { lines, after }: CopiedPart): CheckedPart {
  const bytes = Buffer.from(lines.buffer, lines.byteOffset, lines.length);
  const checks = new EventChecks(types, after);
  const positions: number[] = [];
  const hashes: string[] = [];
  const found = new Map<number, readonly EventFault[]>();
  for (let [from, to] = [0, bytes.indexOf(LINE_FEED)]; to >= 0; from = to + 1, to = bytes.indexOf(LINE_FEED, from)) {
    const { event, json } = eventOf(bytes, from, to);
    const { faults, hash } = checks.check(event, json);
    if (faults.length > 0) found.set(positions.length, faults);
    hashes.push(hash);
    positions.push(event.position);
  }
  return { positions, hashes: Buffer.from(hashes.join(''), 'hex'), faults: found };
}

const NONE: readonly EventFault[] = [];

export function* eventsOfPart({ positions, hashes, faults }: CheckedPart): Generator<CheckedEvent> {
  const all = Buffer.from(hashes.buffer, hashes.byteOffset, hashes.length);
  for (const [i, position] of positions.entries()) {
    const hash = all.subarray(i * HASH_BYTES, (i + 1) * HASH_BYTES);
    yield { position, hash, faults: faults.get(i) ?? NONE };
  }
}

const RECORDED_AT = 7;
const LINE_FEED = 0x0a;

/** The event of a line, whose characters are one byte each at first. Without destructuring, which takes as long as a check. */
function eventOf(bytes: Buffer, from: number, to: number): { readonly event: LoggedEvent; readonly json: JsonBytes } {
  const fields = bytes.toString('latin1', from, to).split('\t');
  const [metadata = '', data = ''] = [fields[9], fields[10]];
  const json = { data: rangeUpTo(bytes, to, data), metadata: rangeUpTo(bytes, to - data.length - 1, metadata) };
  const event = {
    account_id: decoded(fields[0]),
    position: Number(fields[1]),
    stream_id: decoded(fields[2]),
    stream_version: Number(fields[3]),
    event_id: fields[4] ?? '',
    type: decoded(fields[5]),
    occurred_at: fields[6] ?? '',
    recorded_at: fields[RECORDED_AT] ?? '',
    leaf_hash: fields[8] ?? '',
    metadata: textOf(json.metadata),
    data: textOf(json.data),
  };
  return { event, json };
}

function rangeUpTo(bytes: Buffer, end: number, field: string): ByteRange {
  const from = end - field.length;
  return { bytes, from, to: field.includes('\\') ? unescapeBytes(bytes, from, end) : end };
}

const textOf = ({ bytes, from, to }: ByteRange): string => bytes.toString('utf8', from, to);

/** An id, or the name of a type. */
const PLAIN = /^[\w.]*$/;

const decoded = (field = ''): string =>
  PLAIN.test(field) ? field : unescaped(Buffer.from(field, 'latin1').toString());
