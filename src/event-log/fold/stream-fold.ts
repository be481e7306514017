import { OperatorError } from '../../kernel/operator-error.js';
import type { DomainEvent } from '../event.js';
import { type AnyReadModel, currentEvent, type EntityRow, fold, type Table } from '../read-model.js';
import { type StreamEnd, StreamRules } from '../verify/stream-order.js';

/** Events that cannot be folded: the log is damaged, or a newer version of the service wrote them. */
export class ReplayError extends OperatorError {
  override readonly name = 'ReplayError';
}

/** The fields of an event that a fold reads. */
export interface StoredEvent {
  readonly account_id: string;
  readonly stream_id: string;
  readonly stream_version: number;
  /** A bigint, which pg returns as text. */
  readonly position: string;
  readonly type: string;
  readonly data: string;
  /** Milliseconds since 1970. */
  readonly occurred_ms: number;
}

/**
 * The columns of a StoredEvent in `events e`. The time is a number, because pg can parse times only with datestyle ISO.
 */
export const STORED_EVENT = `e.account_id, e.stream_id, e.stream_version, e.position, e.type, e.data,
  floor(extract(epoch from e.occurred_at) * 1000)::float8 as occurred_ms`;

/** The fold of a stream so far. It can take further events later. */
export class StreamFold {
  /** The entity. Undefined before its creation and after its deletion. */
  private entity: EntityRow | undefined;
  private last: StreamEnd | undefined;
  private lastEvent: StoredEvent | undefined;
  private readonly rules: StreamRules | undefined;

  /** `model` is undefined if none of the chosen read models belongs to the stream. */
  constructor(
    readonly accountId: string,
    readonly id: string,
    readonly model: AnyReadModel | undefined,
  ) {
    this.rules = model && rulesOf(model);
  }

  get version(): number {
    return this.last?.version ?? 0;
  }

  /** Takes the event of the next version. Throws ReplayError for any other, and for one that cannot be folded. */
  take(event: StoredEvent): void {
    if (this.model === undefined || this.rules === undefined) return;
    const current = currentOf(this.model, event);
    const facts = { version: event.stream_version, position: Number(event.position), type: event.type };
    const fault = this.rules.faultOf(facts, this.last);
    if (fault !== undefined) throw failure(event, fault);
    this.entity = this.folded(this.model, current, event);
    this.last = this.rules.endWith(facts);
    this.lastEvent = event;
  }

  /** The rows that the stream makes in a table. There are none in a table of another read model. */
  rowsIn(table: Table<object>): readonly object[] {
    const isOurs = this.model?.tables.includes(table) === true;
    if (!isOurs || this.entity === undefined) return [];
    try {
      return table.rowsOf(this.entity);
    } catch (error) {
      throw this.lastEvent === undefined ? error : failure(this.lastEvent, UNFOLDABLE, error);
    }
  }

  /** Folds one event. An event with a right hash can still lack fields, if someone wrote it by hand. */
  private folded(model: AnyReadModel, current: DomainEvent, event: StoredEvent): EntityRow | undefined {
    const time = timeOf(event);
    try {
      return fold(model, this, this.entity, [current], time);
    } catch (error) {
      throw failure(event, UNFOLDABLE, error);
    }
  }
}

const UNFOLDABLE = 'its data lacks a field, or has a field of the wrong type, so no row can be made from it';

const RULES = new WeakMap<AnyReadModel, StreamRules>();

function rulesOf(model: AnyReadModel): StreamRules {
  const rules = RULES.get(model) ?? new StreamRules([model]);
  RULES.set(model, rules);
  return rules;
}

function currentOf(model: AnyReadModel, event: StoredEvent): DomainEvent {
  const current = currentEvent(model, { type: event.type, data: dataOf(event) });
  if (current !== undefined) return current;
  throw failure(event, `this version of the service does not know events of type ${event.type} in this stream`);
}

function timeOf(event: StoredEvent): Date {
  const time = new Date(event.occurred_ms);
  if (!Number.isNaN(time.getTime())) return time;
  throw failure(event, 'its occurred_at is beyond the range of times in JavaScript');
}

function dataOf(event: StoredEvent): object {
  try {
    return JSON.parse(event.data);
  } catch (error) {
    throw failure(event, 'its data is not JSON', error);
  }
}

function failure({ account_id, position, stream_id }: StoredEvent, what: string, cause?: unknown): ReplayError {
  return new ReplayError(`account ${account_id}, position ${position} (stream ${stream_id}): ${what}`, { cause });
}
