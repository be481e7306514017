import type { Pool } from 'pg';
import { queryNamed } from '../database/query.js';
import type { DomainEvent } from './event.js';
import { type Entity, fold, type ReadModel } from './read-model.js';

/** One event as the log holds it. */
export interface RecordedEvent {
  readonly position: number;
  readonly streamId: string;
  readonly streamVersion: number;
  readonly event: DomainEvent;
  /** JSON as stored: who, from where and why. */
  readonly metadata: string;
  readonly occurredAt: Date;
}

interface EventRow {
  readonly position: string;
  readonly stream_id: string;
  readonly stream_version: number;
  readonly type: string;
  readonly data: string;
  readonly metadata: string;
  readonly occurred_at: Date;
}

const COLUMNS = 'position, stream_id, stream_version, type, data, metadata, occurred_at';
const BY_EVENT_ID = {
  name: 'event_by_id',
  text: `select ${COLUMNS} from events where account_id = $1 and event_id = $2`,
};
const STREAM_UP_TO = {
  name: 'stream_up_to',
  text: `select ${COLUMNS} from events where account_id = $1 and stream_id = $2 and stream_version <= $3 order by stream_version`,
};

/** Reads the log of one account at a time. */
export class LogReader {
  constructor(private readonly pool: Pool) {}

  async find(accountId: string, eventId: string): Promise<RecordedEvent | undefined> {
    const { rows } = await queryNamed<EventRow>(this.pool, BY_EVENT_ID, [accountId, eventId]);
    return rows.map(recorded).at(0);
  }

  /** A thing as it was when its stream had this version; undefined if that was its deletion. */
  async entityAt<State, Event extends DomainEvent>(
    model: ReadModel<State, Event>,
    stream: { readonly accountId: string; readonly id: string },
    version: number,
  ): Promise<Entity<State> | undefined> {
    const { rows } = await queryNamed<EventRow>(this.pool, STREAM_UP_TO, [stream.accountId, stream.id, version]);
    // The log holds what this model's decisions made, so its events are of the model's type.
    return rows
      .map(recorded)
      .reduce<Entity<State> | undefined>(
        (entity, { event, occurredAt }) => fold(model, stream, entity, [event as Event], occurredAt),
        undefined,
      );
  }
}

const recorded = (row: EventRow): RecordedEvent => ({
  position: Number(row.position),
  streamId: row.stream_id,
  streamVersion: row.stream_version,
  event: { type: row.type, data: JSON.parse(row.data) },
  metadata: row.metadata,
  occurredAt: row.occurred_at,
});
