import { lastOf, MAX_EVENTS_CHARACTERS, readAfter, readEventLimit, uriWith } from '../http/pages.js';
import type { DomainEvent } from '../log/event.js';
import { changesBetween } from '../log/read/field-changes.js';
import { foldRecorded, type ReplayableEvent } from '../log/read/recorded-event.js';
import type { Entity, ReadModel } from '../log/read-model.js';
import { type HistoryEventResource, type HistoryResource, toHistoryEvent } from './history.resource.js';

/**
 * Returns a page of an entity's history, and the entity's last state. Every page reads from the first event, because
 * the changes of an event depend on all events before it.
 */
export async function historyPage<State, Event extends DomainEvent>(
  model: ReadModel<State, Event>,
  history: AsyncIterable<ReplayableEvent>,
  query: Readonly<Record<string, unknown>>,
  uri: string,
): Promise<{ page: HistoryResource; last: Entity<State> | undefined }> {
  const [after, limit] = [readAfter(query) ?? 0, readEventLimit(query)];
  const events: HistoryEventResource[] = [];
  let [characters, hasMore] = [0, false];
  let entity: Entity<State> | undefined;
  let last: Entity<State> | undefined;
  for await (const event of history) {
    const before = entity;
    entity = foldRecorded(model, before, event);
    last = entity ?? last;
    if (event.position <= after) continue;
    hasMore = events.length === limit || characters >= MAX_EVENTS_CHARACTERS;
    if (hasMore) break;
    events.push(toHistoryEvent(event, changesBetween(model, before, entity)));
    characters += event.data.length;
  }
  const next = uriWith(uri, { after: events.at(-1)?.position, limit, as_of: lastOf(query.as_of) });
  return { page: { events, uri, next_page_uri: hasMore ? next : null }, last };
}
