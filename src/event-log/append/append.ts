import type { DomainEvent, EventMetadata } from '../event.js';
import type { AnyReadModel, EntityRow } from '../read-model.js';

/** What one command adds to the log of one account. */
export interface Append {
  readonly accountId: string;
  readonly metadata: EventMetadata;
  /** When the handler decided. */
  readonly occurredAt: Date;
  /**
   * The position of the last change of rights that the handler knew. Absent: the change needs no rights of a caller.
   */
  readonly rightsPosition?: number | undefined;
  /** At this time of performance.now() the caller gets 503. Absent: the default deadline of the log. */
  readonly deadline?: number | undefined;
  /** At least one stream, with at least one event. */
  readonly streams: readonly StreamAppend[];
}

/** The part of an append that belongs to one stream: its events, and the entity before and after them. */
export interface StreamAppend {
  readonly model: Pick<AnyReadModel, 'tables' | 'events'>;
  readonly id: string;
  readonly before: EntityRow | undefined;
  readonly events: readonly DomainEvent[];
  readonly after: EntityRow | undefined;
  /** The UUID of the first event. It is fixed so that a repetition is recognised. Absent: a new one. */
  readonly eventId?: string;
  /** The maximum by which triggers count the rows of its tables after the append. Absent: they do not count. */
  readonly maximum?: number | undefined;
  /** The id of the event that caused these events. It may be in the same append. */
  readonly causedBy?: string;
}

export interface Appended {
  /** The position of the command's last event in the log of the account. */
  readonly position: number;
  /** True if these events were in the log already, so the command is a repetition and changed nothing. */
  readonly isDuplicate: boolean;
}
