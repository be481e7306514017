import type { EventFilter } from '../../event-log/index.js';
import { omitUndefined } from '../../kernel/omit-undefined.js';
import { isQuotable, malformed, quoted } from '../../kernel/problem.js';
import { lastOf, readAfter, readEventLimit } from '../http/pages.js';

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
  /** Whether each event has what it changed. */
  readonly withChanges?: true;
}

/** Throws Problem for a value that cannot occur: an empty result would look as if no event had happened. */
export function readFeedRequest(query: Query, eventTypes: readonly string[]): FeedRequest {
  const read = (name: string, canOccur: (value: string) => boolean, expected: () => string): string | undefined => {
    const value = lastOf(query[name]);
    if (value === undefined || canOccur(value)) return value;
    throw malformed(`${name} ${quoted(value)} is not ${expected()}.`);
  };
  return {
    filter: omitUndefined({
      streamId: read(
        'stream',
        (id) => /^[a-z]{2,8}_[0-9A-Za-z]{27}$/.test(id),
        () => 'the id of an entity',
      ),
      type: read(
        'type',
        (type) => eventTypes.includes(type),
        () => `an event type; the types are ${eventTypes.join(', ')}`,
      ),
      actor: read(
        'actor',
        (actor) => isQuotable(actor) && /^[\w-]+$/.test(actor),
        () => 'the id of an actor',
      ),
    }),
    ...omitUndefined({
      after: readAfter(query),
      limit: lastOf(query.limit) === undefined ? undefined : readEventLimit(query),
      since: lastOf(query.since),
      until: lastOf(query.until),
      asOf: lastOf(query.as_of),
      withChanges: readInclude(lastOf(query.include)),
    }),
  };
}

function readInclude(include: string | undefined): true | undefined {
  if (include === undefined) return undefined;
  if (include === 'changes') return true;
  throw malformed(`include ${quoted(include)} is unknown; it takes changes.`);
}
