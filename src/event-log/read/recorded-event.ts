import { parseJsonObject } from '../../kernel/json-object.js';
import { Problem } from '../../kernel/problem.js';
import type { DomainEvent, EventMetadata } from '../event.js';
import { currentEvent, type Entity, fold, type ReadModel } from '../read-model.js';

/** One event in the log. */
export interface RecordedEvent {
  readonly accountId: string;
  /** 1, 2, 3 ... in the account, in commit order. */
  readonly position: number;
  readonly streamId: string;
  readonly streamVersion: number;
  readonly eventId: string;
  readonly type: string;
  /** The stored JSON. The leaf hash covers its bytes. */
  readonly data: string;
  /** The stored JSON of EventMetadata. */
  readonly metadata: string;
  /** When the database recorded it: RFC 3339, UTC, microseconds. Strictly increasing in an account. */
  readonly recordedAt: string;
}

/** An event that can be folded. The feed does not fold, so it does not need the Date. */
export interface ReplayableEvent extends RecordedEvent {
  /** When the handler decided it. */
  readonly occurredAt: Date;
}

/** The columns of a RecordedEvent in `events e`, except its data. A double holds a position exactly up to 2^53. */
export const EVENT_COLUMNS = `e.account_id as "accountId", e.position::float8 as position, e.stream_id as "streamId",
  e.stream_version as "streamVersion", e.event_id as "eventId", e.type, e.metadata,
  to_char(e.recorded_at at time zone 'UTC', 'YYYY-MM-DD"T"HH24:MI:SS.US"Z"') as "recordedAt"`;

/**
 * The entity after its next event. Throws for an event type of a newer version, because skipping the event would lose
 * its change.
 */
export function foldRecorded<State, Event extends DomainEvent>(
  model: ReadModel<State, Event>,
  before: Entity<State> | undefined,
  { accountId, position, streamId, type, data, occurredAt }: ReplayableEvent,
): Entity<State> | undefined {
  const event = currentEvent(model, { type, data: parseData({ position, data }) });
  if (event === undefined) {
    throw unreadable(position, `this version of the service does not know its type ${type}`);
  }
  return fold(model, { accountId, id: streamId }, before, [event], occurredAt);
}

/** Parses the data of an event. Throws Problem unless it is a JSON object. */
export const parseData = ({ position, data }: Pick<RecordedEvent, 'position' | 'data'>): object =>
  parseJsonObject(data) ?? refuse(position, 'its data is not a JSON object');

/** Parses the metadata of an event. Throws Problem unless it is a JSON object with an actor. */
export function parseMetadata({ position, metadata }: Pick<RecordedEvent, 'position' | 'metadata'>): EventMetadata {
  const parsed = parseJsonObject(metadata);
  if (typeof parsed?.actor !== 'string') throw unreadable(position, 'its metadata is not a JSON object with an actor');
  return parsed as unknown as EventMetadata;
}

const refuse = (position: number, why: string): never => {
  throw unreadable(position, why);
};

/**
 * The error for an event that the service would never write. Every read of the log ends before such an event with this
 * error.
 */
const unreadable = (position: number, why: string): Problem =>
  new Problem(
    'event_unreadable',
    `The event at position ${position} cannot be read: ${why}. The service did not write it in this form: the operator ` +
      `finds out more with \`audit verify\`. The log goes on after position ${position}.`,
    { position: String(position) },
  );
