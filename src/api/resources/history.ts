import {
  changedFields,
  type DomainEvent,
  type Entity,
  type FieldChange,
  foldRecorded,
  type ReplayableEvent,
} from '../../event-log/index.js';
import { lastOf, MAX_EVENTS_CHARACTERS, readAfter, readEventLimit, uriWith } from '../http/pages.js';
import type { ReadRequest } from '../http/request-context.js';
import { type HistoryEventResource, type HistoryResource, toHistoryEvent } from './history.resource.js';
import type { ResourceDescriptor } from './resource-descriptor.js';

/**
 * Returns a page of an entity's history, and the entity's last state. Every page reads from the first event, because
 * the changes of an event depend on all events before it.
 */
export async function historyPage<State, Event extends DomainEvent>(
  resource: ResourceDescriptor<State, Event>,
  history: AsyncIterable<ReplayableEvent>,
  { query, baseUrl }: Pick<ReadRequest, 'query' | 'baseUrl'>,
  uri: string,
): Promise<{ page: HistoryResource; last: Entity<State> | undefined }> {
  const [after, limit] = [readAfter(query) ?? 0, readEventLimit(query)];
  const events: HistoryEventResource[] = [];
  let [characters, hasMore] = [0, false];
  let entity: Entity<State> | undefined;
  let last: Entity<State> | undefined;
  for await (const event of history) {
    const before = entity;
    entity = foldRecorded(resource.model, before, event);
    last = entity ?? last;
    if (event.position <= after) continue;
    hasMore = events.length === limit || characters >= MAX_EVENTS_CHARACTERS;
    if (hasMore) break;
    events.push(toHistoryEvent(event, changesShown(resource, before, entity, baseUrl)));
    characters += event.data.length;
  }
  const next = uriWith(uri, { after: events.at(-1)?.position, limit, as_of: lastOf(query.as_of) });
  return { page: { events, uri, next_page_uri: hasMore ? next : null }, last };
}

/** Fields that no event changes. */
const FIXED = new Set(['id', 'uri', 'created_at']);

/** The changes in the terms of the API: a field that no GET shows is not in the history either. */
function changesShown<State, Event extends DomainEvent>(
  resource: ResourceDescriptor<State, Event>,
  before: Entity<State> | undefined,
  after: Entity<State> | undefined,
  baseUrl: string,
): FieldChange[] {
  const shown = (entity: Entity<State> | undefined) =>
    entity && isShown(resource, entity)
      ? { ...resource.toResource(entity, baseUrl), ...resource.partsOf?.(entity) }
      : undefined;
  return changedFields(shown(before), shown(after)).filter(({ field }) => !FIXED.has(field));
}

const isShown = <State>(resource: ResourceDescriptor<State>, entity: Entity<State>): boolean =>
  resource.isLive?.(entity) !== false;
