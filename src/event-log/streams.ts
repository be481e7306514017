import { v7 as uuidV7 } from 'uuid';
import type { IdSource } from '../ids.js';
import { Problem } from '../problem.js';
import type { DomainEvent, EventMetadata, NewEvent } from './event.js';
import { type EventLog, StreamConflict } from './event-log.js';
import { type Entity, fold, type ReadModel } from './read-model.js';
import { tableChanges } from './table-change.js';

/** A decision about one stream: what to load it with, and what the command makes of it. */
export interface Change<State, Event extends DomainEvent> {
  readonly model: ReadModel<State, Event>;
  readonly accountId: string;
  readonly streamId: string;
  /** The stream as it is now; called again after another writer won. */
  readonly load: () => Promise<Entity<State> | undefined>;
  /** Throws Problem or returns the events; none means "already so". */
  readonly decide: (entity: Entity<State> | undefined) => readonly Event[];
  readonly metadata: EventMetadata;
  readonly occurredAt: Date;
}

export interface Changed<State> {
  /** Undefined when the change deleted the thing. */
  readonly entity: Entity<State> | undefined;
  /** The account's log position that holds the change, or its head when there was nothing to change. */
  readonly position: number;
}

/** Each lost race has a winner, so this bounds only the patience with more rivals than the queue could hold. */
const MAX_ATTEMPTS = 200;

/** The one way from a decision to the log: load, decide, append; again when another writer was faster. */
export class Streams {
  constructor(
    private readonly log: EventLog,
    readonly ids: IdSource,
  ) {}

  async change<State, Event extends DomainEvent>(change: Change<State, Event>): Promise<Changed<State>> {
    for (let attempt = 1; attempt <= MAX_ATTEMPTS; attempt += 1) {
      const before = await change.load();
      const events = change.decide(before);
      if (events.length === 0) return { entity: before, position: await this.log.headPosition(change.accountId) };
      try {
        return await this.append(change, before, events);
      } catch (error) {
        if (!(error instanceof StreamConflict)) throw error;
      }
    }
    throw new Problem('overloaded', 'Too many others change this at the same time. Try again shortly.');
  }

  private async append<State, Event extends DomainEvent>(
    { model, accountId, streamId, metadata, occurredAt }: Change<State, Event>,
    before: Entity<State> | undefined,
    events: readonly Event[],
  ): Promise<Changed<State>> {
    const after = fold(model, { accountId, id: streamId }, before, events, occurredAt);
    const { position } = await this.log.append({
      accountId,
      events: newEvents(streamId, before?.version ?? 0, events, metadata, occurredAt),
      changes: tableChanges(model, before, after),
    });
    return { entity: after, position };
  }
}

/** Events for a stream that stands at `version`, with fresh ids. */
export const newEvents = (
  streamId: string,
  version: number,
  events: readonly DomainEvent[],
  metadata: EventMetadata,
  occurredAt: Date,
): NewEvent[] =>
  events.map((event, i) => ({
    eventId: uuidV7(),
    streamId,
    streamVersion: version + i + 1,
    event,
    metadata,
    occurredAt,
  }));
