import { lastOf, readAfter, readEventLimit } from '../http/pages.js';
import type { EventFilter } from '../log/read/event-filter.js';
import { omitUndefined } from '../omit-undefined.js';
import { isQuotable, Problem, quoted } from '../problem.js';

type Query = Readonly<Record<string, unknown>>;

/** A request for events. Times are still text, since only the log can turn them into positions. */
export interface FeedRequest {
  /** Absent: from the first event on. */
  readonly after?: number;
  /** Absent: 100 for a page, unlimited for lines. */
  readonly limit?: number;
  readonly filter: EventFilter;
  readonly since?: string;
  readonly until?: string;
  readonly asOf?: string;
}

/** Throws Problem for a value that cannot occur: an empty result would look as if no event had happened. */
export function readFeedRequest(query: Query, eventTypes: readonly string[]): FeedRequest {
  return {
    filter: omitUndefined({ streamId: streamOf(query), type: typeOf(query, eventTypes), actor: actorOf(query) }),
    ...omitUndefined({
      after: readAfter(query),
      limit: lastOf(query.limit) === undefined ? undefined : readEventLimit(query),
      since: lastOf(query.since),
      until: lastOf(query.until),
      asOf: lastOf(query.as_of),
    }),
  };
}

const refuse = (name: string, value: string, expected: string): never => {
  throw new Problem('request_malformed', `${name} ${quoted(value)} is not ${expected}.`);
};

function streamOf(query: Query): string | undefined {
  const id = lastOf(query.stream);
  return id === undefined || /^[a-z]{2,8}_[0-9A-Za-z]{27}$/.test(id) ? id : refuse('stream', id, 'the id of an entity');
}

function typeOf(query: Query, eventTypes: readonly string[]): string | undefined {
  const type = lastOf(query.type);
  if (type === undefined || eventTypes.includes(type)) return type;
  return refuse('type', type, `an event type; the types are ${eventTypes.join(', ')}`);
}

function actorOf(query: Query): string | undefined {
  const actor = lastOf(query.actor);
  return actor === undefined || (isQuotable(actor) && /^[\w-]+$/.test(actor))
    ? actor
    : refuse('actor', actor, 'the id of an actor');
}
