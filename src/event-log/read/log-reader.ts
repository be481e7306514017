import { type Connections, durableLimits, durably, queryNamed, type Ref } from '../../database/index.js';
import type { DomainEvent } from '../event.js';
import type { Entity, ReadModel } from '../read-model.js';
import { EVENT_COLUMNS, foldRecorded, type RecordedEvent, type ReplayableEvent } from './recorded-event.js';

/** The most events that a fold of one or several streams holds in memory at once. */
const EVENTS_PER_FOLD = 200;

const BY_EVENT_ID = durably(
  'event_by_id',
  `select ${EVENT_COLUMNS}, e.data from events e where account_id = $1 and event_id = $2`,
);
/**
 * $2 has the ids of streams, and $3 the version after which each is read. Each stream is looked up by itself, because
 * some plans for several streams at once would read the account's whole log.
 */
const OF_STREAMS = {
  name: 'events_of_streams',
  text: `select ${EVENT_COLUMNS}, e.data, e.occurred_at as "occurredAt"
    from unnest($2::text[], $3::int[]) as s(id, version) cross join lateral (
      select * from events e where e.account_id = $1 and e.stream_id = s.id and e.stream_version > s.version and e.position <= $4
      order by e.stream_version limit $5) e
    order by e.stream_id, e.stream_version`,
};

/** The comparisons and the order follow the columns of the index of streams, so that PostgreSQL takes no other. */
const OF_STREAM = {
  name: 'events_of_stream',
  text: `select ${EVENT_COLUMNS}, e.data, e.occurred_at as "occurredAt" from events e
    where e.account_id = $1 and (e.stream_id, e.stream_version) > ($2, 0) and (e.stream_id, e.stream_version) < ($2, 2147483647)
    order by e.stream_id, e.stream_version limit ${EVENTS_PER_FOLD}`,
};

/** Reads events of one account by their id or their stream, a limited number at a time, and folds them. */
export class LogReader {
  constructor(private readonly connections: Connections) {}

  /** Finds an event by its id. The event is durable, so the caller may acknowledge it. */
  async find(accountId: string, eventId: string, deadline?: number): Promise<RecordedEvent | undefined> {
    const { rows } = await queryNamed<RecordedEvent>(
      this.connections,
      BY_EVENT_ID,
      [accountId, eventId],
      durableLimits(deadline),
    );
    return rows[0];
  }

  /** Yields the events of some streams up to a position. The events of each stream are in order. */
  async *ofStreams(accountId: string, streamIds: readonly string[], upTo: number): AsyncGenerator<ReplayableEvent> {
    let versions = new Map(streamIds.map((id) => [id, 0]));
    while (versions.size > 0) {
      const max = Math.max(1, Math.floor(EVENTS_PER_FOLD / versions.size));
      const values = [accountId, [...versions.keys()], [...versions.values()], upTo, max];
      const { rows } = await queryNamed<ReplayableEvent>(this.connections, OF_STREAMS, values);
      yield* rows;
      // A stream that filled its limit may have more.
      const ends = rows.filter(({ streamId, streamVersion }) => streamVersion - (versions.get(streamId) ?? 0) >= max);
      versions = new Map(ends.map(({ streamId, streamVersion }) => [streamId, streamVersion]));
    }
  }

  /** The entity now, from its first 200 events: for a resource without a table, whose streams are short. */
  async entityNow<State, Event extends DomainEvent>(
    model: ReadModel<State, Event>,
    { accountId, id }: Ref,
  ): Promise<Entity<State> | undefined> {
    const { rows } = await queryNamed<ReplayableEvent>(this.connections, OF_STREAM, [accountId, id]);
    return rows.reduce((entity: Entity<State> | undefined, event) => foldRecorded(model, entity, event), undefined);
  }

  /** The entity at a log position. Undefined before its creation and after its deletion. */
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
