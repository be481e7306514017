import { Injectable } from '@nestjs/common';
import { PostgresFailure } from '../../database/index.js';
import {
  type DomainEvent,
  type Entity,
  eventIdOf,
  LogReader,
  parseMetadata,
  type ReadModel,
  type RecordedEvent,
} from '../../event-log/index.js';
import { Problem } from '../../kernel/problem.js';
import type { ChangeContext } from '../http/request-context.js';

/** A change that is in the log already. */
interface RecordedChange<State> {
  /** The entity after the change; undefined if the change deleted it. */
  readonly entity: Entity<State> | undefined;
  readonly position: number;
}

/** The event of this request is in the log: the next look finds it. */
export class AlreadyRecorded extends Error {
  override readonly name = 'AlreadyRecorded';
}

/** Finds the change that a request made the first time. The log keeps it, so every instance finds it at any time. */
@Injectable()
export class Idempotency {
  constructor(private readonly log: LogReader) {}

  /** Undefined if no change has this Idempotency-Key. Throws Problem if another request used the key. */
  async find<State extends object>(
    model: ReadModel<State, DomainEvent>,
    context: ChangeContext,
  ): Promise<RecordedChange<State> | undefined> {
    const event = await this.eventOf(context);
    if (event === undefined) return undefined;
    if (parseMetadata(event).request_hash !== context.metadata.request_hash) {
      const message = 'This Idempotency-Key was used with another request; take a new one.';
      throw new Problem('idempotency_key_reused', message);
    }
    const ref = { accountId: context.accountId, id: event.streamId };
    return { entity: await this.log.entityAt(model, ref, event.position), position: event.position };
  }

  /**
   * Whether a change has this Idempotency-Key, asked after a failure. False if the database is away: then the failure
   * itself says more.
   */
  async isRecorded(context: ChangeContext): Promise<boolean> {
    try {
      return (await this.eventOf(context)) !== undefined;
    } catch (error) {
      if (PostgresFailure.of(error).isConnectionLoss) return false;
      throw error;
    }
  }

  private async eventOf({ accountId, deadline, metadata }: ChangeContext): Promise<RecordedEvent | undefined> {
    if (metadata.idempotency_key === undefined) return undefined;
    return this.log.find(accountId, eventIdOf(metadata), deadline);
  }
}
