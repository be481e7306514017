import { type Connections, queryNamed } from '../../database/index.js';
import { type EventFilter, isEmpty, matchingPositions, type Span } from './event-filter.js';
import { EVENT_COLUMNS, type RecordedEvent } from './recorded-event.js';

/** The limits of a page. It ends with the event that reaches one of them. */
export interface PageSize {
  readonly events: number;
  /** The characters of the events' data. */
  readonly characters: number;
}

interface EventPage {
  /** In the order of the log. */
  readonly events: readonly RecordedEvent[];
  /** Every match up to this position is in `events` or was on an earlier page. */
  readonly scannedTo: number;
}

/** An event usually has about a kilobyte. */
const FULL_PAGE: PageSize = { events: 1_000, characters: 1024 * 1024 };
/** Longer data is read by its own query: an event may have 256 KiB, and the rows of a page must stay within 8 MiB. */
const MAX_BYTES_IN_ROW = 8 * 1024;
const SELECT = `select ${EVENT_COLUMNS}, case when octet_length(e.data) <= ${MAX_BYTES_IN_ROW} then e.data end as data`;
const IN_RANGE = {
  name: 'events',
  text: `${SELECT} from events e where e.account_id = $1 and e.position > $2 and e.position <= $3 order by e.position`,
};
/**
 * Each position is looked up by itself: before version 17 PostgreSQL would read the log from its beginning to find
 * several.
 */
const AT_POSITIONS = {
  name: 'events_at',
  text: `${SELECT} from unnest($2::bigint[]) as wanted(position)
    cross join lateral (select * from events e where e.account_id = $1 and e.position = wanted.position limit 1) e`,
};
const DATA_AT = { name: 'data_at', text: 'select data from events where account_id = $1 and position = $2' };

/** An event. Its data is null if it is too long for the row, and must be read by its own query. */
type PageRow = Omit<RecordedEvent, 'data'> & { data: string | null };

interface ScannedRows {
  /** In the order of the log. */
  readonly rows: readonly PageRow[];
  readonly scannedTo: number;
}

/** Reads the log of one account in its order, page by page, so that memory use does not grow with the log. */
export class LogPages {
  constructor(private readonly connections: Connections) {}

  /** Reads the first page of a span. `size` may leave out a limit, which is then that of a full page. */
  async page(
    accountId: string,
    span: Span,
    filter: EventFilter = {},
    size: Partial<PageSize> = {},
  ): Promise<EventPage> {
    const max = { ...FULL_PAGE, ...size };
    const { rows, scannedTo } = isEmpty(filter)
      ? await this.inRange(accountId, span, max.events)
      : await this.matching(accountId, span, filter, max.events);
    const events = await this.withData(rows, max.characters);
    const isCut = events.length < rows.length;
    return { events, scannedTo: isCut ? (events.at(-1)?.position ?? scannedTo) : scannedTo };
  }

  private async inRange(accountId: string, { after, upTo }: Span, max: number): Promise<ScannedRows> {
    const scannedTo = Math.min(upTo, after + max);
    const { rows } = await queryNamed<PageRow>(this.connections, IN_RANGE, [accountId, after, scannedTo]);
    return { rows, scannedTo };
  }

  private async matching(accountId: string, span: Span, filter: EventFilter, max: number): Promise<ScannedRows> {
    const positions = await matchingPositions(this.connections, accountId, span, filter, max);
    const last = positions.at(-1);
    if (last === undefined) return { rows: [], scannedTo: span.upTo };
    const { rows } = await queryNamed<PageRow>(this.connections, AT_POSITIONS, [accountId, positions]);
    rows.sort((a, b) => a.position - b.position);
    return { rows, scannedTo: positions.length < max ? span.upTo : last };
  }

  /** Returns the events that fit on a page, with their data. */
  private async withData(rows: readonly PageRow[], maxCharacters: number): Promise<RecordedEvent[]> {
    const events: RecordedEvent[] = [];
    let characters = 0;
    for (const row of rows) {
      row.data ??= await this.dataAt(row);
      events.push(row as RecordedEvent);
      characters += row.data.length;
      if (characters >= maxCharacters) break;
    }
    return events;
  }

  private async dataAt({ accountId, position }: PageRow): Promise<string> {
    const { rows } = await queryNamed<{ data: string }>(this.connections, DATA_AT, [accountId, position]);
    const [row] = rows;
    if (row === undefined) throw new Error(`the event at position ${position} of ${accountId} is missing`);
    return row.data;
  }

  /** Yields all pages of a span. It reads the next page while the caller works on the last one. */
  async *pages(accountId: string, { after, upTo }: Span): AsyncGenerator<EventPage> {
    let next = after < upTo ? this.page(accountId, { after, upTo }) : undefined;
    while (next !== undefined) {
      const page = await next;
      next = page.scannedTo < upTo ? this.page(accountId, { after: page.scannedTo, upTo }) : undefined;
      // A caller that stops early never awaits this page.
      next?.catch(() => undefined);
      yield page;
    }
  }
}
