import { PostgresFailure } from '../database/failure.js';
import type { ChangeContext } from '../http/request-context.js';
import { idempotentEventId } from '../log/append/event-ids.js';
import type { DomainEvent } from '../log/event.js';
import type { LogReader } from '../log/read/log-reader.js';
import { parseMetadata } from '../log/read/recorded-event.js';
import type { Entity, ReadModel } from '../log/read-model.js';
import { Problem } from '../problem.js';

/** A change that is in the log already. */
export interface RecordedChange<State> {
  /** The entity after the change; undefined if the change deleted it. */
  readonly entity: Entity<State> | undefined;
  readonly position: number;
}

/** Finds the change that a request made the first time. The log keeps it, so every instance finds it at any time. */
export class Idempotency {
  constructor(private readonly log: LogReader) {}

  /**
   * Runs a change once, even if the client sends it several times under one Idempotency-Key. The log is read again after
   * a failure: a repetition that runs beside the first may fail because of what the first one did.
   */
  async once<State extends object, Answer>(
    model: ReadModel<State, DomainEvent>,
    context: ChangeContext,
    change: () => Promise<Answer>,
    repeat: (recorded: RecordedChange<State>) => Promise<Answer>,
  ): Promise<Answer> {
    const first = await this.find(model, context);
    if (first !== undefined) return repeat(first);
    try {
      return await change();
    } catch (error) {
      // If the database is away, the first error says more: the change may have been written.
      const meanwhile = await this.find(model, context).catch((other: unknown) => {
        throw PostgresFailure.of(other).isConnectionLoss ? error : other;
      });
      if (meanwhile === undefined) throw error;
      return repeat(meanwhile);
    }
  }

  /** Undefined if no change has this Idempotency-Key. Throws Problem if another request used the key. */
  private async find<State extends object>(
    model: ReadModel<State, DomainEvent>,
    { accountId, deadline, metadata: { actor, idempotency_key: key = '', request_hash } }: ChangeContext,
  ): Promise<RecordedChange<State> | undefined> {
    const event = await this.log.find(accountId, idempotentEventId(actor, key), deadline);
    if (event === undefined) return undefined;
    if (parseMetadata(event).request_hash !== request_hash) {
      const message = 'This Idempotency-Key was used with another request; take a new one.';
      throw new Problem('idempotency_key_reused', message);
    }
    const entity = await this.log.entityAt(model, { accountId, id: event.streamId }, event.position);
    return { entity, position: event.position };
  }
}
