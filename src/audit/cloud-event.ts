import type { EventMetadata } from '../log/event.js';
import type { RecordedEvent } from '../log/read/recorded-event.js';
import { READ_MODELS } from '../read-models.js';

const HIDDEN_FIELDS = new Map(
  READ_MODELS.flatMap(({ events }) => Object.entries(events)).flatMap(([type, { hidden }]) =>
    hidden === undefined ? [] : [[type, hidden] as const],
  ),
);

/** Every type of event there is, in the order of the read models. */
export const EVENT_TYPES: readonly string[] = READ_MODELS.flatMap(({ events }) => Object.keys(events));

/**
 * An event as callers see it: CloudEvents 1.0 (JSON format), on one line. What CloudEvents has no name for is an extension
 * attribute. `data` is the very text of the log, but for fields that nobody is shown.
 */
export function cloudEventText(event: RecordedEvent, baseUrl: string): string {
  const metadata = JSON.parse(event.metadata) as EventMetadata;
  const attributes = JSON.stringify({
    specversion: '1.0',
    id: event.eventId,
    source: `${baseUrl}/accounts/${event.accountId}`,
    type: event.type,
    subject: event.streamId,
    time: event.recordedAt,
    datacontenttype: 'application/json',
    logposition: event.position,
    streamversion: event.streamVersion,
    actor: metadata.actor,
    apikeyid: metadata.api_key_id,
    tokenid: metadata.token_id,
    clientip: metadata.ip,
    useragent: metadata.user_agent,
    operationid: metadata.operation_id,
  });
  return `${attributes.slice(0, -1)},"data":${shownData(event)}}`;
}

function shownData({ type, data }: RecordedEvent): string {
  const hidden = HIDDEN_FIELDS.get(type);
  if (hidden === undefined) return data;
  const fields = Object.entries(JSON.parse(data) as object).filter(([field]) => !hidden.includes(field));
  return JSON.stringify(Object.fromEntries(fields));
}
