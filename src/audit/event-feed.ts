import type { Caller } from '../caller.js';
import { MAX_EVENTS_CHARACTERS } from '../http/pages.js';
import type { LogPositions } from '../log/read/log-positions.js';
import type { EventFilter, LogReader, Span } from '../log/read/log-reader.js';
import { Problem } from '../problem.js';
import type { CloudEvents } from './cloud-events.js';
import type { FeedRequest } from './feed-request.js';

/** The events of one account that a request selects. */
export interface FeedSelection {
  readonly accountId: string;
  readonly span: Span;
  readonly filter: EventFilter;
  /** The beginning of each event's `source`. */
  readonly baseUrl: string;
}

interface FeedEvent {
  readonly position: number;
  /** The CloudEvent as JSON, on one line. */
  readonly line: string;
}

interface FeedPage {
  readonly events: readonly FeedEvent[];
  /** The last position that was searched for these events. */
  readonly scannedTo: number;
}

/** Positions that one page request searches. A client finds a rare event with several requests, each of them fast. */
const MAX_SCANNED_POSITIONS = 100_000;

/** The events of an account, as CloudEvents. */
export class EventFeed {
  constructor(
    private readonly positions: LogPositions,
    private readonly log: LogReader,
    private readonly cloudEvents: CloudEvents,
  ) {}

  /** The positions that a request selects. Throws Problem for a position or time that is malformed or in the future. */
  async spanOf(
    { accountId }: Caller,
    { after = 0, since, until, asOf }: FeedRequest,
    allowed: 'past' | 'future' = 'future',
  ): Promise<Span> {
    const head = await this.positions.head(accountId);
    if (after > head) {
      throw new Problem('cursor_malformed', `after is ${after}, but the log ends at position ${head}.`);
    }
    const at = (name: string, time: string | undefined, otherwise: number): Promise<number> | number =>
      time === undefined ? otherwise : this.positions.positionAt(accountId, name, time, allowed);
    const [first, last, past] = await Promise.all([
      at('since', since, 0),
      at('until', until, head),
      asOf === undefined ? head : this.positions.positionOf(accountId, 'as_of', asOf),
    ]);
    return { after: Math.max(after, first), upTo: Math.min(head, last, past) };
  }

  /** At most `limit` events and about a mebibyte. It may be empty, if no event in the searched positions matches. */
  async page({ accountId, span, filter, baseUrl }: FeedSelection, limit: number): Promise<FeedPage> {
    const events: FeedEvent[] = [];
    const end = Math.min(span.upTo, span.after + MAX_SCANNED_POSITIONS);
    let [position, characters] = [span.after, 0];
    while (position < end && events.length < limit && characters < MAX_EVENTS_CHARACTERS) {
      const max = limit - events.length;
      const page = await this.log.page(accountId, { after: position, upTo: end }, filter, max);
      for (const event of page.events) {
        events.push({ position: event.position, line: this.cloudEvents.lineOf(event, baseUrl) });
        characters += event.data.length;
      }
      position = page.scannedTo;
    }
    return { events, scannedTo: position };
  }

  /** Every matching event, or the first `limit` ones, as chunks of lines. */
  async *lines({ accountId, span, filter, baseUrl }: FeedSelection, limit = Number.POSITIVE_INFINITY) {
    let left = limit;
    for await (const { events } of this.log.pages(accountId, span, filter)) {
      const chunk = events.length <= left ? events : events.slice(0, left);
      left -= chunk.length;
      if (chunk.length > 0) yield `${chunk.map((event) => this.cloudEvents.lineOf(event, baseUrl)).join('\n')}\n`;
      if (left === 0) return;
    }
  }
}
