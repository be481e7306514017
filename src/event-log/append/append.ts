import type { DomainEvent, EventMetadata } from '../event.js';
import type { AnyReadModel, EntityRow } from '../read-model.js';

/** One command's effect on the log of one account. */
export interface Append {
  readonly accountId: string;
  readonly metadata: EventMetadata;
  /** When the handler decided. */
  readonly occurredAt: Date;
  /** The account's last change of rights that the handler knew. Absent: no caller's rights are needed. */
  readonly rightsPosition?: number | undefined;
  /** Time of performance.now() at which the caller is answered 503. Absent: the log's own deadline from now. */
  readonly deadline?: number | undefined;
  /** At least one, with at least one event. */
  readonly streams: readonly StreamAppend[];
}

/** One stream's share of an append: its events, and the entity before and after them. */
export interface StreamAppend {
  readonly model: Pick<AnyReadModel, 'tables' | 'events'>;
  readonly id: string;
  readonly before: EntityRow | undefined;
  readonly events: readonly DomainEvent[];
  readonly after: EntityRow | undefined;
  /** UUID of the first event, fixed so that a repetition is recognised; absent: a new one. */
  readonly eventId?: string;
  /** Id of the event that caused these, which may be in the same append. */
  readonly causedBy?: string;
}

export interface Appended {
  /** Position of the command's last event in the log of the account. */
  readonly position: number;
  /** True when these events were in the log already: the command is a repetition and changed nothing. */
  readonly isDuplicate: boolean;
}
