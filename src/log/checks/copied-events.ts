import { StringDecoder } from 'node:string_decoder';
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

/** Checks the events of one log as COPY sends them, in parts that may end within a line, or within a character. */
export class CopiedEvents {
  private readonly decoder = new StringDecoder('utf8');
  private readonly checks: EventChecks;
  private rest = '';

  constructor(types: KnownTypes) {
    this.checks = new EventChecks(types);
  }

  check(part: Buffer): CheckedPart {
    const lines = (this.rest + this.decoder.write(part)).split('\n');
    this.rest = lines.pop() ?? '';
    const positions: number[] = [];
    const hashes = Buffer.alloc(lines.length * HASH_BYTES);
    const found = new Map<number, readonly EventFault[]>();
    for (const line of lines) {
      const event = eventOf(line);
      const { faults, hash } = this.checks.check(event);
      hashes.write(hash, positions.length * HASH_BYTES, 'hex');
      if (faults.length > 0) found.set(positions.length, faults);
      positions.push(event.position);
    }
    return { positions, hashes, faults: found };
  }
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
