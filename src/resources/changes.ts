import { Answer } from '../http/answer.js';
import { etagOf } from '../http/preconditions.js';
import type { ChangeContext } from '../http/request-context.js';
import type { IdSource } from '../ids.js';
import type { StreamAppend } from '../log/append/append.js';
import { StreamConflict } from '../log/append/append-failures.js';
import { eventIdOf } from '../log/append/event-ids.js';
import type { EventLog } from '../log/append/event-log.js';
import type { DomainEvent } from '../log/event.js';
import type { LogPositions } from '../log/read/log-positions.js';
import { type Entity, fold } from '../log/read-model.js';
import { Problem } from '../problem.js';
import type { EntityQueries } from './entity-queries.js';
import { refuseUnexpected } from './expectations.js';
import type { Idempotency, RecordedChange } from './idempotency.js';
import { KeyedQueue } from './keyed-queue.js';
import type { Resource } from './resource.js';

/** The answer to a command: an entity after its change, rendered by its resource. */
export class Changed<State> extends Answer {
  constructor(
    private readonly resource: Resource<State>,
    /** Undefined when the change deleted it. */
    readonly entity: Entity<State> | undefined,
    /** Position of the change in the log of the account, or the newest one when nothing changed. */
    readonly position: number,
    /** The request is a repetition under its Idempotency-Key. */
    readonly isDuplicate = false,
  ) {
    super();
  }

  get headers() {
    const position = { 'log-position': String(this.position) };
    return this.entity === undefined ? position : { ...position, etag: etagOf(this.entity) };
  }

  render(baseUrl: string): object | undefined {
    return this.entity && this.resource.toResource(this.entity, baseUrl);
  }
}

/** Throws Problem, or returns events: none if nothing changes. It makes its own look-ups, since it runs again after a lost race. */
export type Decision<State, Event> = (entity: Entity<State> | undefined) => Decided<Event>;
type Decided<Event> = readonly Event[] | Promise<readonly Event[]>;

export interface ChangeOptions {
  /** The body of a PATCH: its read-only fields must have their current values. */
  readonly sent?: object;
  /** What other streams record in the same append. Throws Problem when they forbid the change. */
  alongside?(own: StreamAppend, at: Date): Promise<readonly StreamAppend[]>;
}

/** The one way from a decision to the log: load, decide, append; again when another writer was first. */
export class Changes {
  private readonly queue = new KeyedQueue();

  constructor(
    private readonly log: EventLog,
    private readonly entities: EntityQueries,
    private readonly positions: LogPositions,
    private readonly idempotency: Idempotency,
    private readonly ids: IdSource,
  ) {}

  create<State extends object, Event extends DomainEvent>(
    resource: Resource<State, Event>,
    context: ChangeContext,
    decide: (newId: string) => Decided<Event>,
    options: ChangeOptions = {},
  ): Promise<Changed<State>> {
    const { model, idPrefix } = resource;
    const attempt = async () => {
      const at = this.ids.now();
      const id = this.ids.next(idPrefix, at);
      const events = await decide(id);
      const state = events.reduce<State | undefined>((before, event) => model.evolve(before, event), undefined);
      const after = { account_id: context.accountId, id, version: events.length, created_at: at, ...(state as State) };
      const position = await this.record(context, { model, id, before: undefined, events, after }, at, options);
      return new Changed(resource, after, position);
    };
    // The new stream has no rival, but `alongside` may write streams that have.
    return this.once(resource, context, () => untilNoConflict(attempt));
  }

  /** Changes of one entity run one after another: of those that decide at once, all but one would decide in vain. */
  apply<State extends object, Event extends DomainEvent>(
    resource: Resource<State, Event>,
    context: ChangeContext,
    id: string,
    decide: Decision<State, Event>,
    options: ChangeOptions = {},
  ): Promise<Changed<State>> {
    const { model } = resource;
    const ref = { accountId: context.accountId, id };
    const attempt = async () => {
      const before = await this.entities.find(resource, ref);
      const events = await decide(before);
      if (before !== undefined) refuseUnexpected(resource, before, context, options.sent);
      if (events.length === 0) return new Changed(resource, before, await this.positions.head(ref.accountId));
      const at = this.ids.now();
      const after = fold(model, ref, before, events, at);
      const position = await this.record(context, { model, id, before, events, after }, at, options);
      return new Changed(resource, after, position);
    };
    const queueKey = `${ref.accountId} ${id}`;
    return this.once(resource, context, () => this.queue.run(queueKey, () => untilNoConflict(attempt)));
  }

  private async record(context: ChangeContext, own: StreamAppend, at: Date, options: ChangeOptions): Promise<number> {
    const { accountId, metadata } = context;
    const others = (await options.alongside?.(own, at)) ?? [];
    const streams = [...others, { ...own, eventId: eventIdOf(metadata) }];
    const { position, isDuplicate } = await this.log.append({ accountId, metadata, occurredAt: at, streams });
    if (isDuplicate) throw new Error('this command is in the log already');
    return position;
  }

  private once<State extends object>(
    resource: Resource<State>,
    context: ChangeContext,
    change: () => Promise<Changed<State>>,
  ): Promise<Changed<State>> {
    if (context.metadata.idempotency_key === undefined) return change();
    const repeat = ({ entity, position }: RecordedChange<State>) => new Changed(resource, entity, position, true);
    return this.idempotency.once(resource.model, context, change, repeat);
  }
}

/** Rivals are other instances, and changes of other entities that write the same stream. Each lost race has a winner. */
const MAX_ATTEMPTS = 200;

async function untilNoConflict<Result>(attempt: () => Promise<Result>): Promise<Result> {
  for (let n = 1; n <= MAX_ATTEMPTS; n += 1) {
    try {
      return await attempt();
    } catch (error) {
      if (!(error instanceof StreamConflict)) throw error;
    }
  }
  throw new Problem('overloaded', 'Too many others change this at the same time. Try again shortly.');
}
