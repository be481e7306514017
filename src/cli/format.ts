import type { EventMetadata } from '../log/event.js';
import { changesBetween, type FieldChange } from '../log/read/field-changes.js';
import { foldRecorded, type RecordedEvent, type ReplayableEvent } from '../log/read/recorded-event.js';
import type { AnyReadModel, Entity } from '../log/read-model.js';

/** A longer value is cut: a policy may have 256 KiB. */
const MAX_VALUE_CHARACTERS = 200;

/** One event on a line: when, where in the log, what, of what, and by whom. */
export function eventLine(event: RecordedEvent): string {
  const { recordedAt, accountId, position, type, streamId, streamVersion, metadata } = event;
  return `${recordedAt}  ${accountId} ${position}  ${type}  ${streamId} version ${streamVersion}  ${byWhom(metadata)}`;
}

function byWhom(text: string): string {
  const { actor, api_key_id, token_id, ip, user_agent, operation_id } = JSON.parse(text) as EventMetadata;
  const parts: [string, string | undefined][] = [
    ['by', actor],
    ['with', api_key_id ?? token_id],
    ['from', ip],
    // Whatever the caller sent: sqlLiteral, so that it cannot write to the terminal of who reads it.
    ['using', user_agent === undefined ? undefined : JSON.stringify(user_agent)],
    ['in', operation_id],
  ];
  return parts.flatMap(([word, value]) => (value === undefined ? [] : [`${word} ${value}`])).join(' ');
}

/** The life of a thing: each event with what it changed. */
export async function* lifeOf(model: AnyReadModel, events: AsyncIterable<ReplayableEvent>): AsyncGenerator<string> {
  let entity: Entity<unknown> | undefined;
  for await (const event of events) {
    const before = entity;
    entity = foldRecorded(model, before, event);
    yield `${event.recordedAt}  version ${event.streamVersion}, position ${event.position}  ${event.type}  ${byWhom(event.metadata)}`;
    yield* changesBetween(model, before, entity).map(before === undefined ? newLine : changeLine);
  }
}

export const newLine = ({ field, to }: FieldChange): string => `    ${field}: ${shown(to)}`;
export const changeLine = ({ field, from, to }: FieldChange): string => `    ${field}: ${shown(from)} -> ${shown(to)}`;

/** As JSON, which has no control characters. */
function shown(value: unknown): string {
  const text = JSON.stringify(value) ?? 'null';
  const rest = text.length - MAX_VALUE_CHARACTERS;
  return rest > 0 ? `${text.slice(0, MAX_VALUE_CHARACTERS)}... (${rest} more characters)` : text;
}
