import { lastOf, readAfter, readEventLimit } from '../http/pages.js';
import type { EventFilter } from '../log/read/log-reader.js';
import { omitUndefined } from '../omit-undefined.js';
import { Problem } from '../problem.js';
import { EVENT_TYPES } from './cloud-event.js';

type Query = Readonly<Record<string, unknown>>;

/** What is asked of the feed. Times are still text: only the log can say which positions they mean. */
export interface FeedRequest {
  /** Absent: from the first event on. */
  readonly after?: number;
  /** Absent: a page of 100, or all that match where they are streamed. */
  readonly limit?: number;
  readonly filter: EventFilter;
  readonly since?: string;
  readonly until?: string;
  readonly asOf?: string;
}

export function readFeedRequest(query: Query): FeedRequest {
  return {
    filter: omitUndefined({ streamId: streamOf(query), type: typeOf(query), actor: actorOf(query) }),
    ...omitUndefined({
      after: readAfter(query),
      limit: lastOf(query.limit) === undefined ? undefined : readEventLimit(query),
      since: lastOf(query.since),
      until: lastOf(query.until),
      asOf: lastOf(query.as_of),
    }),
  };
}

/** A misspelt filter would find nothing, which looks like "nothing happened": so what cannot be is refused. */
const refuse = (name: string, value: string, what: string): never => {
  throw new Problem('request_malformed', `${name} '${value.slice(0, 64)}' is not ${what}.`);
};

function streamOf(query: Query): string | undefined {
  const id = lastOf(query.stream);
  return id === undefined || /^[a-z]{2,8}_[0-9A-Za-z]{27}$/.test(id) ? id : refuse('stream', id, 'the id of a thing');
}

function typeOf(query: Query): string | undefined {
  const type = lastOf(query.type);
  if (type === undefined || EVENT_TYPES.includes(type)) return type;
  return refuse('type', type, `a type of event; there are ${EVENT_TYPES.join(', ')}`);
}

function actorOf(query: Query): string | undefined {
  const actor = lastOf(query.actor);
  return actor === undefined || /^[A-Za-z0-9_-]{1,128}$/.test(actor)
    ? actor
    : refuse('actor', actor, 'the id of an actor');
}
