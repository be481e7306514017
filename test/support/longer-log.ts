import { randomUUID } from 'node:crypto';
import { type LoggedEvent, leafHash } from '../../src/event-log/verify/logged-event.js';

export const rehashed = (event: object): object => ({ ...event, leaf_hash: leafHash(event as LoggedEvent) });

/**
 * An exported log with further entities, up to so many events, all made as its first one by an event of this type. One
 * of the new lines may be changed.
 */
export function longer(
  exported: string,
  type: string,
  events: number,
  lineNumber?: number,
  change = (event: object) => event,
): string {
  const lines = exported.trimEnd().split('\n');
  const created = JSON.parse(lines.find((line) => line.includes(type) && !line.includes('device_name')) ?? '');
  const [prefix] = created.stream_id.split('_');
  const more = Array.from({ length: events - lines.length }, (_, i) => {
    const position = lines.length + i + 1;
    const number = String(position).padStart(6, '0');
    const recorded_at = `2100-01-01T00:00:00.${number}Z`;
    const stream_id = `${prefix}_${number.padStart(27, '0')}`;
    const event = rehashed({ ...created, position, stream_id, stream_version: 1, event_id: randomUUID(), recorded_at });
    return JSON.stringify(position === lineNumber ? change(event) : event);
  });
  return `${exported}${more.join('\n')}\n`;
}
