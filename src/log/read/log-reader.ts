import type { Pool } from 'pg';
import type { Ref } from '../../database/coalesce.js';
import { queryNamed } from '../../database/query.js';
import type { DomainEvent } from '../event.js';
import type { Entity, ReadModel } from '../read-model.js';
import { EVENT_COLUMNS, foldRecorded, type RecordedEvent, type ReplayableEvent } from './recorded-event.js';

/** Positions of an account's log: those greater than `after`, up to and including `upTo`. */
export interface Span {
  readonly after: number;
  readonly upTo: number;
}

/** What an event must be to be read; what is absent is not asked. */
export interface EventFilter {
  readonly streamId?: string;
  readonly type?: string;
  readonly actor?: string;
}

export interface EventPage {
  /** In the order of the log. */
  readonly events: readonly RecordedEvent[];
  /** Whatever matches up to this position is in `events` or was on an earlier page. */
  readonly scannedTo: number;
}

/** Positions looked at by one query: of about a kilobyte each when all are wanted, mostly passed over when few are. */
const POSITIONS_PER_PAGE = 1_000;
const POSITIONS_PER_FILTERED_PAGE = 10_000;
/** Data that is longer comes by itself, so that a page of a thousand events takes 8 MiB at most. One event may have 256 KiB. */
const MAX_BYTES_IN_ROW = 8 * 1024;
/** A page ends with the event that reaches this many characters of data. */
const CHARACTERS_PER_PAGE = 1024 * 1024;
/** Events of one thing, or of a list's things, that are in memory at once. */
const EVENTS_PER_FOLD = 200;

const BY_EVENT_ID = {
  name: 'event_by_id',
  text: `select ${EVENT_COLUMNS}, e.data from events e where account_id = $1 and event_id = $2`,
};
const OF_STREAMS = {
  name: 'events_of_streams',
  text: `select ${EVENT_COLUMNS}, e.data, e.occurred_at as "occurredAt" from events e
    where account_id = $1 and stream_id = any($2) and position <= $3 and (stream_id, stream_version) > ($4, $5)
    order by stream_id, stream_version limit ${EVENTS_PER_FOLD}`,
};

const DATA_AT = { name: 'data_at', text: 'select data from events where account_id = $1 and position = $2' };

/** An event whose data may still have to be fetched. */
type Listed = Omit<RecordedEvent, 'data'> & { data: string | null };

/** Reads the log of one account at a time, in portions: whatever its length, little of it is in memory. */
export class LogReader {
  constructor(private readonly pool: Pool) {}

  async find(accountId: string, eventId: string): Promise<RecordedEvent | undefined> {
    const { rows } = await queryNamed<RecordedEvent>(this.pool, BY_EVENT_ID, [accountId, eventId]);
    return rows[0];
  }

  /** The next portion of a span: as far as one query reads, and at most `most` events. */
  async page(accountId: string, span: Span, filter: EventFilter = {}, most = POSITIONS_PER_PAGE): Promise<EventPage> {
    // By position, not by LIMIT: stale statistics once made LIMIT 17 times slower. A stream has an index of its own.
    const reach =
      filter.type === undefined && filter.actor === undefined ? POSITIONS_PER_PAGE : POSITIONS_PER_FILTERED_PAGE;
    const upTo = filter.streamId === undefined ? Math.min(span.upTo, span.after + reach) : span.upTo;
    const { statement, values } = pageStatement(filter);
    const bounds = [accountId, span.after, upTo, most];
    const { rows } = await queryNamed<Listed>(this.pool, statement, [...bounds, ...values]);
    const events = await this.withData(rows);
    const isCut = rows.length === most || events.length < rows.length;
    return { events, scannedTo: isCut ? (events.at(-1)?.position ?? upTo) : upTo };
  }

  /** As many of the events as fit on a page, with their data. */
  private async withData(rows: readonly Listed[]): Promise<RecordedEvent[]> {
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

  private async dataAt({ accountId, position }: Listed): Promise<string> {
    const { rows } = await queryNamed<{ data: string }>(this.pool, DATA_AT, [accountId, position]);
    const [row] = rows;
    if (row === undefined) throw new Error(`the event at position ${position} of ${accountId} is gone`);
    return row.data;
  }

  /** Everything that matches in a span, portion by portion; the next one is read while the last one is worked on. */
  async *pages(accountId: string, { after, upTo }: Span, filter: EventFilter = {}): AsyncGenerator<EventPage> {
    let next = after < upTo ? this.page(accountId, { after, upTo }, filter) : undefined;
    while (next !== undefined) {
      const page = await next;
      next = page.scannedTo < upTo ? this.page(accountId, { after: page.scannedTo, upTo }, filter) : undefined;
      // Whoever stops listening leaves this one unanswered.
      next?.catch(() => undefined);
      yield page;
    }
  }

  /** The events of some streams up to a position: stream by stream in the order of their ids, each from its beginning. */
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

  /** A thing as it was when the log ended at this position; undefined before its creation and after its deletion. */
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

/** $1 account, $2 and $3 the span, $4 how many, then the filter's values. One prepared text for each combination of filters. */
function pageStatement({ streamId, type, actor }: EventFilter) {
  const given = [
    { name: 'stream', sql: 'e.stream_id', value: streamId },
    { name: 'type', sql: 'e.type', value: type },
    { name: 'actor', sql: `e.metadata::json ->> 'actor'`, value: actor },
  ].filter(({ value }) => value !== undefined);
  const conditions = given.map(({ sql }, n) => ` and ${sql} = $${n + 5}`).join('');
  // The length of a long text is known without unpacking it.
  const text = `select ${EVENT_COLUMNS}, case when octet_length(e.data) <= ${MAX_BYTES_IN_ROW} then e.data end as data from events e
    where e.account_id = $1 and e.position > $2 and e.position <= $3${conditions} order by e.position limit $4`;
  const name = ['events', ...given.map((one) => one.name)].join('_');
  return { statement: { name, text }, values: given.map(({ value }) => value) };
}
