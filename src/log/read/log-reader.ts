import type { Pool } from 'pg';
import type { Ref } from '../../database/coalesce.js';
import { DURABLE_LIMITS, durably, queryNamed } from '../../database/query.js';
import type { DomainEvent } from '../event.js';
import type { Entity, ReadModel } from '../read-model.js';
import { EVENT_COLUMNS, foldRecorded, type RecordedEvent, type ReplayableEvent } from './recorded-event.js';

/** A range of positions of an account's log: greater than `after`, up to and including `upTo`. */
export interface Span {
  readonly after: number;
  readonly upTo: number;
}

/** Selects events. An absent field matches every event. */
export interface EventFilter {
  readonly streamId?: string;
  readonly type?: string;
  readonly actor?: string;
}

interface EventPage {
  /** In the order of the log. */
  readonly events: readonly RecordedEvent[];
  /** Every match up to this position is in `events` or was on an earlier page. */
  readonly scannedTo: number;
}

/** Positions that one query scans. An event takes about a kilobyte; a filter by type or actor skips most events. */
const POSITIONS_PER_PAGE = 1_000;
const POSITIONS_PER_FILTERED_PAGE = 10_000;
/** Longer data takes a query of its own: an event may have 256 KiB, and a page of 1,000 must stay within 8 MiB. */
const MAX_BYTES_IN_ROW = 8 * 1024;
/** A page ends with the event at which its data reaches this size. */
const CHARACTERS_PER_PAGE = 1024 * 1024;
/** Events that a fold of one or several streams holds in memory at once. */
const EVENTS_PER_FOLD = 200;

const BY_EVENT_ID = durably(
  'event_by_id',
  `select ${EVENT_COLUMNS}, e.data from events e where account_id = $1 and event_id = $2`,
);
const OF_STREAMS = {
  name: 'events_of_streams',
  text: `select ${EVENT_COLUMNS}, e.data, e.occurred_at as "occurredAt" from events e
    where account_id = $1 and stream_id = any($2) and position <= $3 and (stream_id, stream_version) > ($4, $5)
    order by stream_id, stream_version limit ${EVENTS_PER_FOLD}`,
};

const DATA_AT = { name: 'data_at', text: 'select data from events where account_id = $1 and position = $2' };

/** An event whose data may still have to be read. */
type PageRow = Omit<RecordedEvent, 'data'> & { data: string | null };

/** Reads the log of one account page by page, so that memory use does not grow with the log. */
export class LogReader {
  constructor(private readonly pool: Pool) {}

  /** The caller may acknowledge the event: it is durable. */
  async find(accountId: string, eventId: string): Promise<RecordedEvent | undefined> {
    const { rows } = await queryNamed<RecordedEvent>(this.pool, BY_EVENT_ID, [accountId, eventId], DURABLE_LIMITS);
    return rows[0];
  }

  /** Reads the first page of a span: as far as one query scans, and at most `max` events. */
  async page(accountId: string, span: Span, filter: EventFilter = {}, max = POSITIONS_PER_PAGE): Promise<EventPage> {
    // A range of positions, since stale statistics made LIMIT 17 times slower. Streams have their own index.
    const maxPositions =
      filter.type === undefined && filter.actor === undefined ? POSITIONS_PER_PAGE : POSITIONS_PER_FILTERED_PAGE;
    const upTo = filter.streamId === undefined ? Math.min(span.upTo, span.after + maxPositions) : span.upTo;
    const { statement, values } = pageStatement(filter);
    const bounds = [accountId, span.after, upTo, max];
    const { rows } = await queryNamed<PageRow>(this.pool, statement, [...bounds, ...values]);
    const events = await this.withData(rows);
    const isCut = rows.length === max || events.length < rows.length;
    return { events, scannedTo: isCut ? (events.at(-1)?.position ?? upTo) : upTo };
  }

  /** Returns the events that fit on a page, with their data. */
  private async withData(rows: readonly PageRow[]): Promise<RecordedEvent[]> {
    const events: RecordedEvent[] = [];
    let characters = 0;
    for (const row of rows) {
      row.data ??= await this.dataAt(row);
      events.push(row as RecordedEvent);
      characters += row.data.length;
      if (characters >= CHARACTERS_PER_PAGE) break;
    }
    return events;
  }

  private async dataAt({ accountId, position }: PageRow): Promise<string> {
    const { rows } = await queryNamed<{ data: string }>(this.pool, DATA_AT, [accountId, position]);
    const [row] = rows;
    if (row === undefined) throw new Error(`the event at position ${position} of ${accountId} is missing`);
    return row.data;
  }

  /** Yields all pages of a span. It reads the next page while the caller works on the last one. */
  async *pages(accountId: string, { after, upTo }: Span, filter: EventFilter = {}): AsyncGenerator<EventPage> {
    let next = after < upTo ? this.page(accountId, { after, upTo }, filter) : undefined;
    while (next !== undefined) {
      const page = await next;
      next = page.scannedTo < upTo ? this.page(accountId, { after: page.scannedTo, upTo }, filter) : undefined;
      // A caller that stops early never awaits this page.
      next?.catch(() => undefined);
      yield page;
    }
  }

  /** Yields the events of some streams up to a position, stream by stream in the order of their ids. */
  async *ofStreams(accountId: string, streamIds: readonly string[], upTo: number): AsyncGenerator<ReplayableEvent> {
    let [streamId, version] = ['', 0];
    for (;;) {
      const values = [accountId, streamIds, upTo, streamId, version];
      const { rows } = await queryNamed<ReplayableEvent>(this.pool, OF_STREAMS, values);
      yield* rows;
      const last = rows.at(-1);
      if (last === undefined || rows.length < EVENTS_PER_FOLD) return;
      [streamId, version] = [last.streamId, last.streamVersion];
    }
  }

  /** The entity at a log position; undefined before its creation and after its deletion. */
  async entityAt<State, Event extends DomainEvent>(
    model: ReadModel<State, Event>,
    { accountId, id }: Ref,
    position: number,
  ): Promise<Entity<State> | undefined> {
    let entity: Entity<State> | undefined;
    for await (const event of this.ofStreams(accountId, [id], position)) entity = foldRecorded(model, entity, event);
    return entity;
  }
}

/** $1 account, $2 and $3 the span, $4 the maximum, then the filters; each combination is one statement. */
function pageStatement({ streamId, type, actor }: EventFilter) {
  const filters = [
    { name: 'stream', sql: 'e.stream_id', value: streamId },
    { name: 'type', sql: 'e.type', value: type },
    { name: 'actor', sql: `e.metadata::json ->> 'actor'`, value: actor },
  ].filter(({ value }) => value !== undefined);
  const conditions = filters.map(({ sql }, n) => ` and ${sql} = $${n + 5}`).join('');
  // PostgreSQL knows the length of a long text without decompressing it.
  const text = `select ${EVENT_COLUMNS}, case when octet_length(e.data) <= ${MAX_BYTES_IN_ROW} then e.data end as data from events e
    where e.account_id = $1 and e.position > $2 and e.position <= $3${conditions} order by e.position limit $4`;
  const name = ['events', ...filters.map((one) => one.name)].join('_');
  return { statement: { name, text }, values: filters.map(({ value }) => value) };
}
