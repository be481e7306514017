import type { Ref } from '../../database/coalesce.js';
import { type Connections, durableLimits, durably, queryNamed } from '../../database/query.js';
import type { DomainEvent } from '../event.js';
import type { Entity, ReadModel } from '../read-model.js';
import { EVENT_COLUMNS, foldRecorded, type RecordedEvent, type ReplayableEvent } from './recorded-event.js';

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
/** Reads events of one account by their id or their stream, and folds them, so many at a time. */
export class LogReader {
  constructor(private readonly connections: Connections) {}

  /** The caller may acknowledge the event: it is durable. */
  async find(accountId: string, eventId: string, deadline?: number): Promise<RecordedEvent | undefined> {
    const { rows } = await queryNamed<RecordedEvent>(
      this.connections,
      BY_EVENT_ID,
      [accountId, eventId],
      durableLimits(deadline),
    );
    return rows[0];
  }

  /** Yields the events of some streams up to a position, stream by stream in the order of their ids. */
  async *ofStreams(accountId: string, streamIds: readonly string[], upTo: number): AsyncGenerator<ReplayableEvent> {
    let [streamId, version] = ['', 0];
    for (;;) {
      const values = [accountId, streamIds, upTo, streamId, version];
      const { rows } = await queryNamed<ReplayableEvent>(this.connections, OF_STREAMS, values);
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
