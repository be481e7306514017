import type { CloudEvents } from '../../../audit/cloud-events.js';
import type { RecordedEvent } from '../../../log/read/recorded-event.js';

/** Consecutive events of an account in one request. */
export interface Batch {
  /** Equal for the same events, also when another process sends them again, and for no others, also after a restore. */
  readonly id: string;
  /** For messages. */
  readonly name: string;
  /** A JSON array of CloudEvents. */
  readonly body: string;
  /** Its last event. */
  readonly last: RecordedEvent;
}

/** The events are those of `GET /events`, byte for byte. Throws for no events, or if the first cannot be read. */
export function batchOf(events: readonly RecordedEvent[], cloudEvents: CloudEvents): Batch {
  const lines = cloudEvents.linesOf(events);
  const [first, last] = [events[0], events[lines.length - 1]];
  if (first === undefined || last === undefined) throw new Error('a batch without events');
  const body = `[${lines.map(({ line }) => line).join(',')}]`;
  const name = `events ${first.position} to ${last.position}`;
  // After a restore other events get the same positions, so the id of the last event belongs to it.
  return { id: `${first.accountId}_${first.position}-${last.position}_${last.eventId}`, name, body, last };
}
