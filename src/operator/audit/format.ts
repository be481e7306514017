import {
  type AnyReadModel,
  changesBetween,
  type Entity,
  type FieldChange,
  foldRecorded,
  parseMetadata,
  type RecordedEvent,
  type ReplayableEvent,
} from '../../event-log/index.js';
import { visibleLine } from '../print.js';

/** Longer values are cut: a traffic policy may have 256 KiB. */
const MAX_VALUE_CHARACTERS = 200;

/** One event on a line: time, account and position, type, resource, and who made it. */
export function eventLine(event: RecordedEvent): string {
  const { recordedAt, accountId, position, type, streamId, streamVersion } = event;
  return `${recordedAt}  ${accountId} ${position}  ${type}  ${streamId} version ${streamVersion}  ${originOf(event)}`;
}

/** The same as a line of JSON. */
export const eventJson = (event: RecordedEvent): string => JSON.stringify(factsOf(event));

const factsOf = (event: RecordedEvent) => ({
  ...{ time: event.recordedAt, account_id: event.accountId, position: event.position, type: event.type },
  ...{ id: event.streamId, version: event.streamVersion, ...parseMetadata(event) },
});

/** Who made an event, with which key, from where, and what it belongs to. */
function originOf(event: RecordedEvent): string {
  const { actor, api_key_id, token_id, ip, user_agent, operation_id, ...ids } = parseMetadata(event);
  const parts: [string, string | undefined][] = [
    ['by', actor],
    ['with', api_key_id ?? token_id],
    ['from', ip],
    // The caller chose this text.
    ['using', user_agent === undefined ? undefined : safeJson(user_agent)],
    ['in', operation_id],
    ['of trace', ids.correlation_id],
    ['because of event', ids.causation_id],
  ];
  return parts.flatMap(([word, value]) => (value === undefined ? [] : [`${word} ${value}`])).join(' ');
}

/** The history of a resource: each event, with the fields that it changed. */
export async function* historyLines(
  model: AnyReadModel,
  events: AsyncIterable<ReplayableEvent>,
  json?: true,
): AsyncGenerator<string> {
  let entity: Entity<unknown> | undefined;
  for await (const event of events) {
    const before = entity;
    entity = foldRecorded(model, before, event);
    const changes = changesBetween(model, before, entity);
    if (json === true) {
      yield JSON.stringify({ ...factsOf(event), changes });
      continue;
    }
    yield `${event.recordedAt}  version ${event.streamVersion}, position ${event.position}  ${event.type}  ${originOf(event)}`;
    yield* changes.map(before === undefined ? initialValue : changedValue);
  }
}

export const initialValue = ({ field, to }: FieldChange): string => `    ${field}: ${shortened(to)}`;
export const changedValue = ({ field, from, to }: FieldChange): string =>
  `    ${field}: ${shortened(from)} -> ${shortened(to)}`;

function shortened(value: unknown): string {
  const text = safeJson(value);
  const rest = text.length - MAX_VALUE_CHARACTERS;
  return rest > 0 ? `${text.slice(0, MAX_VALUE_CHARACTERS)}... (${rest} more characters)` : text;
}

/** As JSON without control characters. JSON itself allows U+007F to U+009F. */
const safeJson = (value: unknown): string => visibleLine(JSON.stringify(value) ?? 'null');
