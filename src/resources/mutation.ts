import type { CommandBus, ICommand } from '@nestjs/cqrs';
import type { FastifyReply } from 'fastify';
import { setEtag } from '../http/preconditions.js';
import type { RequestContext } from '../http/request-context.js';
import { idempotentEventId } from '../log/append/event-ids.js';
import type { DomainEvent, EventMetadata } from '../log/event.js';
import type { LogReader } from '../log/read/log-reader.js';
import type { ReadModel } from '../log/read-model.js';
import { Problem } from '../problem.js';
import type { Changed } from './changes.js';

interface Command extends ICommand {
  readonly context: RequestContext;
}

/** How every mutating route runs its command: once, however often it is sent under one Idempotency-Key. */
export class Mutations {
  constructor(
    private readonly commands: CommandBus,
    private readonly log: LogReader,
  ) {}

  /**
   * What the command answers; its entity is undefined when the thing is deleted. The answer's headers tell the thing's
   * version and the log position of the change.
   */
  async execute<State, Event extends DomainEvent, Answer extends Changed<State> = Changed<State>>(
    model: ReadModel<State, Event>,
    command: Command,
    reply: FastifyReply,
  ): Promise<Answer | Changed<State>> {
    const changed = await this.once<State, Event, Answer>(model, command);
    void reply.header('log-position', String(changed.position));
    if (changed.entity !== undefined) setEtag(reply, changed.entity);
    return changed;
  }

  /**
   * Looks before, so that a repetition is not decided anew, and again after a failure: a repetition that ran at the same
   * time as the first may have been refused because of what the first did.
   */
  private async once<State, Event extends DomainEvent, Answer extends Changed<State>>(
    model: ReadModel<State, Event>,
    command: Command,
  ): Promise<Answer | Changed<State>> {
    const { metadata } = command.context.change;
    const key = metadata.idempotency_key;
    if (key === undefined) return this.commands.execute<Command, Answer>(command);
    const first = () => this.firstAnswer(model, command.context.caller.accountId, metadata, key);
    const known = await first();
    if (known !== undefined) return known;
    try {
      return await this.commands.execute<Command, Answer>(command);
    } catch (error) {
      const meanwhile = await first();
      if (meanwhile !== undefined) return meanwhile;
      throw error;
    }
  }

  /** What the log says this key did the first time; undefined when it did nothing yet. */
  private async firstAnswer<State, Event extends DomainEvent>(
    model: ReadModel<State, Event>,
    accountId: string,
    metadata: EventMetadata,
    key: string,
  ): Promise<Changed<State> | undefined> {
    const event = await this.log.find(accountId, idempotentEventId(metadata.actor, key));
    if (event === undefined) return undefined;
    if ((JSON.parse(event.metadata) as EventMetadata).request_hash !== metadata.request_hash) {
      throw new Problem(
        'idempotency_key_reused',
        'This Idempotency-Key was used with another request; take a new one.',
      );
    }
    const entity = await this.log.entityAt(model, { accountId, id: event.streamId }, event.position);
    return { entity, position: event.position };
  }
}
