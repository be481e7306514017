import type { IdSource } from '../ids.js';
import { idempotentEventId, newEventId } from '../log/append/event-ids.js';
import { type EventLog, StreamConflict } from '../log/append/event-log.js';
import { type TableChange, tableChanges } from '../log/append/table-change.js';
import type { DomainEvent, EventMetadata, NewEvent } from '../log/event.js';
import { type Entity, fold, type ReadModel } from '../log/read-model.js';
import { Problem } from '../problem.js';

/** A decision about one stream: what to load it with, and what the command makes of it. */
export interface Change<State, Event extends DomainEvent> {
  readonly model: ReadModel<State, Event>;
  readonly accountId: string;
  readonly streamId: string;
  /** The stream as it is now; called again after another writer won. */
  readonly load: () => Promise<Entity<State> | undefined>;
  /** Throws Problem or returns the events; none means "already so". */
  readonly decide: (entity: Entity<State> | undefined) => readonly Event[];
  /**
   * What other streams of the account must record together with it, in one append; asked again at every attempt. Throws
   * Problem when they forbid the change.
   */
  readonly also?: (entity: Entity<State> | undefined, events: readonly Event[]) => Promise<readonly Part[]>;
  readonly metadata: EventMetadata;
  /** Whether the caller accepts this version of the stream as what it wanted to change. */
  readonly ifMatch?: (version: number) => boolean;
  readonly occurredAt: Date;
}

/** The same command, told by its Idempotency-Key, is in the log already. */
export class AlreadyRecorded extends Error {
  override readonly name = 'Repetition';
}

/** One stream's share of an append: made by `partOf`, so that its rows always come of its events. */
export interface Part<State = unknown> {
  readonly streamId: string;
  /** The stream's version before these events. */
  readonly version: number;
  readonly events: readonly DomainEvent[];
  readonly changes: readonly TableChange[];
  /** The thing after these events. */
  readonly after: Entity<State> | undefined;
}

export interface Changed<State> {
  /** Undefined when the change deleted the thing. */
  readonly entity: Entity<State> | undefined;
  /** The account's log position that holds the change, or its head when there was nothing to change. */
  readonly position: number;
}

/** Only other copies of the service are rivals, and each lost race has a winner among them. */
const MAX_ATTEMPTS = 200;

/** The one way from a decision to the log: load, decide, append; again when another writer was faster. */
export class Streams {
  constructor(
    private readonly log: EventLog,
    readonly ids: IdSource,
  ) {}

  /** Records what was decided elsewhere; throws StreamConflict when one of the streams has moved on. */
  async appendParts(
    accountId: string,
    parts: readonly Part[],
    { metadata, occurredAt }: { readonly metadata: EventMetadata; readonly occurredAt: Date },
  ): Promise<void> {
    await this.log.append({
      accountId,
      events: parts.flatMap((part) => newEvents(part, metadata, occurredAt, false)),
      changes: parts.flatMap((part) => part.changes),
    });
  }

  private readonly turns = new Map<string, Promise<unknown>>();

  /** Changes of one stream go one after another, since of those that decide at once all but one would decide in vain. */
  change<State, Event extends DomainEvent>(change: Change<State, Event>): Promise<Changed<State>> {
    const { streamId } = change;
    const turn = (this.turns.get(streamId) ?? Promise.resolve()).then(() => this.decideAndAppend(change));
    const done = turn
      .catch(() => undefined)
      .then(() => {
        if (this.turns.get(streamId) === done) this.turns.delete(streamId);
      });
    this.turns.set(streamId, done);
    return turn;
  }

  private async decideAndAppend<State, Event extends DomainEvent>(
    change: Change<State, Event>,
  ): Promise<Changed<State>> {
    for (let attempt = 1; attempt <= MAX_ATTEMPTS; attempt += 1) {
      const before = await change.load();
      const events = change.decide(before);
      if (before !== undefined && change.ifMatch?.(before.version) === false) throw preconditionFailed(before.version);
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
    { model, accountId, streamId, also, metadata, occurredAt }: Change<State, Event>,
    before: Entity<State> | undefined,
    events: readonly Event[],
  ): Promise<Changed<State>> {
    const stream = { accountId, id: streamId };
    const others = also === undefined ? [] : await also(before, events);
    const main = partOf(model, stream, before, events, occurredAt);
    const parts: readonly Part[] = [...others, main];
    const { position, isDuplicate } = await this.log.append({
      accountId,
      events: parts.flatMap((part) => newEvents(part, metadata, occurredAt, part === main)),
      changes: parts.flatMap((part) => part.changes),
    });
    if (isDuplicate) throw new AlreadyRecorded('this command is in the log already');
    return { entity: main.after, position };
  }
}

/** The events of one stream, and the rows that they make. */
export function partOf<State, Event extends DomainEvent>(
  model: ReadModel<State, Event>,
  stream: { readonly accountId: string; readonly id: string },
  before: Entity<State> | undefined,
  events: readonly Event[],
  occurredAt: Date,
): Part<State> {
  const { accountId, id } = stream;
  const after = fold(model, { accountId, id }, before, events, occurredAt);
  return { streamId: id, version: before?.version ?? 0, events, changes: tableChanges(model, before, after), after };
}

const preconditionFailed = (version: number): Problem =>
  new Problem('precondition_failed', `If-Match does not hold: the resource's ETag is "${version}" now.`);

/**
 * The events of a part as they go into the log. Ids are fresh, but for the first event of the part the command is about:
 * under an Idempotency-Key it has that key's id, which the log takes once.
 */
export const newEvents = (
  { streamId, version, events }: Part,
  metadata: EventMetadata,
  occurredAt: Date,
  isMain = true,
): NewEvent[] =>
  events.map((event, i) => ({
    eventId: isMain && i === 0 ? eventIdOf(metadata) : newEventId(),
    streamId,
    streamVersion: version + i + 1,
    event,
    metadata,
    occurredAt,
  }));

const eventIdOf = ({ actor, idempotency_key: key }: EventMetadata): string =>
  key === undefined ? newEventId() : idempotentEventId(actor, key);
