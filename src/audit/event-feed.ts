import type { Caller } from '../caller.js';
import { MAX_EVENTS_CHARACTERS } from '../http/pages.js';
import type { LogPositions } from '../log/read/log-positions.js';
import type { EventFilter, LogReader, Span } from '../log/read/log-reader.js';
import { Problem } from '../problem.js';
import { cloudEventText } from './cloud-event.js';
import type { FeedRequest } from './feed-request.js';

/** Part of one account's log, and how it is to be shown. */
export interface FeedPart {
  readonly accountId: string;
  readonly span: Span;
  readonly filter: EventFilter;
  /** In front of each event's `source`. */
  readonly baseUrl: string;
}

/** An event as a CloudEvent in JSON, on one line. */
export interface ShownEvent {
  readonly position: number;
  readonly text: string;
}

export interface FeedPage {
  readonly events: readonly ShownEvent[];
  /** The position up to which the log was looked at for them. */
  readonly scannedTo: number;
}

/** Positions that one request for a page goes through: a rare event is found in several, none of which is slow. */
const MAX_SCANNED_POSITIONS = 100_000;

/** The events of an account, as CloudEvents. */
export class EventFeed {
  constructor(
    private readonly moments: LogPositions,
    private readonly log: LogReader,
  ) {}

  head = (accountId: string): Promise<number> => this.moments.head(accountId);

  /** The positions that a request means. Throws Problem for moments that are none, or not yet. */
  async spanOf(
    { accountId }: Caller,
    { after = 0, since, until, asOf }: FeedRequest,
    allowed: 'past' | 'future' = 'future',
  ): Promise<Span> {
    const head = await this.moments.head(accountId);
    if (after > head) {
      throw new Problem('cursor_malformed', `after is ${after}, but the log ends at position ${head}.`);
    }
    const at = (name: string, time: string | undefined, otherwise: number): Promise<number> | number =>
      time === undefined ? otherwise : this.moments.positionAt(accountId, name, time, allowed);
    const [first, last, past] = await Promise.all([
      at('since', since, 0),
      at('until', until, head),
      asOf === undefined ? head : this.moments.positionOf(accountId, 'as_of', asOf),
    ]);
    return { after: Math.max(after, first), upTo: Math.min(head, last, past) };
  }

  /** At most `limit` events and about a mebibyte; fewer, or none, when little of what was looked at matches. */
  async page({ accountId, span, filter, baseUrl }: FeedPart, limit: number): Promise<FeedPage> {
    const events: ShownEvent[] = [];
    const end = Math.min(span.upTo, span.after + MAX_SCANNED_POSITIONS);
    let [position, characters] = [span.after, 0];
    while (position < end && events.length < limit && characters < MAX_EVENTS_CHARACTERS) {
      const most = limit - events.length;
      const page = await this.log.page(accountId, { after: position, upTo: end }, filter, most);
      for (const event of page.events) {
        events.push({ position: event.position, text: cloudEventText(event, baseUrl) });
        characters += event.data.length;
      }
      position = page.scannedTo;
    }
    return { events, scannedTo: position };
  }

  /** All that match, or the first `limit`, as chunks of lines. */
  async *lines({ accountId, span, filter, baseUrl }: FeedPart, limit = Number.POSITIVE_INFINITY) {
    let left = limit;
    for await (const { events } of this.log.pages(accountId, span, filter)) {
      const shown = events.length <= left ? events : events.slice(0, left);
      left -= shown.length;
      if (shown.length > 0) yield `${shown.map((event) => cloudEventText(event, baseUrl)).join('\n')}\n`;
      if (left === 0) return;
    }
  }
}
