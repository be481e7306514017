import { unescaped } from '../../database/copy/copy-text.js';
import { HASH_BYTES } from '../tree/merkle-tree.js';
import { EventChecks, type EventFault, type KnownTypes } from './event-checks.js';
import type { CheckedEvent } from './log-checks.js';
import { type LoggedEvent, timeText } from './logged-event.js';

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
    yield { lines, after };
    const last = lines.toString('latin1', lines.lastIndexOf('\n', -2) + 1);
    after = eventOf(last).recorded_at;
  }
}

/** Needs nothing of other parts, so that threads can check several at once. */
export function checkPart(types: KnownTypes, { lines, after }: CopiedPart): CheckedPart {
  const events = Buffer.from(lines.buffer, lines.byteOffset, lines.length).toString().split('\n').slice(0, -1);
  const checks = new EventChecks(types, after);
  const positions: number[] = [];
  const hashes = Buffer.alloc(events.length * HASH_BYTES);
  const found = new Map<number, readonly EventFault[]>();
  for (const line of events) {
    const event = eventOf(line);
    const { faults, hash } = checks.check(event);
    hashes.write(hash, positions.length * HASH_BYTES, 'hex');
    if (faults.length > 0) found.set(positions.length, faults);
    positions.push(event.position);
  }
  return { positions, hashes, faults: found };
}

const NONE: readonly EventFault[] = [];

export function* eventsOfPart({ positions, hashes, faults }: CheckedPart): Generator<CheckedEvent> {
  const all = Buffer.from(hashes.buffer, hashes.byteOffset, hashes.length);
  for (const [i, position] of positions.entries()) {
    const hash = all.subarray(i * HASH_BYTES, (i + 1) * HASH_BYTES);
    yield { position, hash, faults: faults.get(i) ?? NONE };
  }
}

/** Without destructuring, which takes as long as a check. */
function eventOf(line: string): LoggedEvent {
  const fields = line.split('\t');
  return {
    account_id: unescaped(fields[0] ?? ''),
    position: Number(fields[1]),
    stream_id: unescaped(fields[2] ?? ''),
    stream_version: Number(fields[3]),
    event_id: fields[4] ?? '',
    type: unescaped(fields[5] ?? ''),
    occurred_at: fields[6] ?? '',
    recorded_at: fields[7] ?? '',
    leaf_hash: fields[8] ?? '',
    metadata: unescaped(fields[9] ?? ''),
    data: unescaped(fields[10] ?? ''),
  };
}
