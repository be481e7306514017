import { untilReachable } from '../database/until-reachable.js';
import { Answer } from '../http/answer.js';
import { etagOf } from '../http/preconditions.js';
import type { ChangeContext } from '../http/request-context.js';
import type { IdSource } from '../ids.js';
import { KeyedQueue } from '../instance/keyed-queue.js';
import type { StreamAppend } from '../log/append/append.js';
import { ClaimRefused, RightsTaken, StreamConflict } from '../log/append/append-failures.js';
import { eventIdOf } from '../log/append/event-ids.js';
import type { EventLog } from '../log/append/event-log.js';
import type { DomainEvent } from '../log/event.js';
import type { LogPositions } from '../log/read/log-positions.js';
import { type Entity, fold } from '../log/read-model.js';
import { Problem } from '../problem.js';
import type { EntityQueries } from './entity-queries.js';
import type { Idempotency, RecordedChange } from './idempotency.js';
import { refuseReadOnlyChanges } from './read-only-fields.js';
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

/**
 * Throws Problem, or returns events: none if nothing changes. `at` is the time of the events. It runs again after a
 * lost race or a change of rights, so it makes its own look-ups, and takes the caller from its own argument.
 */
export type Decision<State, Event, Context> = (
  entity: Entity<State> | undefined,
  context: Context,
  at: Date,
) => Decided<Event>;
type Decided<Event> = readonly Event[] | Promise<readonly Event[]>;

export interface ChangeOptions {
  /** The body of a PATCH: its read-only fields must have their current values. */
  readonly sent?: object;
  /** What other streams record in the same append, caused by the change. Throws Problem when they forbid it. */
  alongside?(own: StreamAppend, at: Date): Promise<readonly StreamAppend[]>;
}

/** The one way from a decision to the log: load, decide, append; again when another writer was first or rights were taken. */
export class Changes {
  private readonly queue = new KeyedQueue();

  constructor(
    private readonly log: EventLog,
    private readonly entities: EntityQueries,
    private readonly positions: LogPositions,
    private readonly idempotency: Idempotency,
    private readonly ids: IdSource,
  ) {}

  create<State extends object, Event extends DomainEvent, Context extends ChangeContext>(
    resource: Resource<State, Event>,
    requested: Context,
    decide: (newId: string, context: Context, at: Date) => Decided<Event>,
    options: ChangeOptions = {},
  ): Promise<Changed<State>> {
    const { model, idPrefix } = resource;
    // The new stream has no rival, but `alongside` may write streams that have.
    return this.run(resource, requested, async (context) => {
      const at = this.ids.now();
      const id = this.ids.next(idPrefix, at);
      const events = await decide(id, context, at);
      const state = events.reduce<State | undefined>((before, event) => model.evolve(before, event), undefined);
      const after = { account_id: context.accountId, id, version: events.length, created_at: at, ...(state as State) };
      const position = await this.record(context, { model, id, before: undefined, events, after }, at, options);
      return new Changed(resource, after, position);
    });
  }

  /** Changes of one entity run one after another: of those that decide at once, all but one would decide in vain. */
  apply<State extends object, Event extends DomainEvent, Context extends ChangeContext>(
    resource: Resource<State, Event>,
    requested: Context,
    id: string,
    decide: Decision<State, Event, Context>,
    options: ChangeOptions = {},
  ): Promise<Changed<State>> {
    const { model } = resource;
    const ref = { accountId: requested.accountId, id };
    const attempt = async (context: Context) => {
      const before = await this.entities.find(resource, ref);
      const at = this.ids.now();
      const events = await decide(before, context, at);
      if (before !== undefined) refuseUnexpected(resource, before, context, options.sent);
      if (events.length === 0) return new Changed(resource, before, await this.durableHead(context));
      const after = fold(model, ref, before, events, at);
      const position = await this.record(context, { model, id, before, events, after }, at, options);
      return new Changed(resource, after, position);
    };
    // With the account, since a caller may name the entity of another account, and must not wait for its changes.
    const queueKey = `${ref.accountId} ${id}`;
    return this.run(resource, requested, (context) => this.queue.run(queueKey, () => attempt(context)));
  }

  /** Every answer holds for the caller's rights at the end: the append checks them, and so does any other way out. */
  private async run<State extends object, Context extends ChangeContext>(
    resource: Resource<State>,
    requested: Context,
    attempt: (context: Context) => Promise<Changed<State>>,
  ): Promise<Changed<State>> {
    let context = requested;
    const { deadline = performance.now() + this.log.deadlineMs } = requested;
    for (let n = 1; n <= MAX_ATTEMPTS; n += 1) {
      try {
        // The log itself waits for a database that is away. These are the look-ups before it.
        const change = () => this.once(resource, context, () => attempt(context));
        return await untilReachable(deadline, change).catch(async (error) => {
          if (isRefusal(error)) await this.refuseIfRightsTaken(context);
          throw error;
        });
      } catch (error) {
        if (error instanceof RightsTaken) context = (await context.renewed?.()) ?? context;
        else if (!(error instanceof StreamConflict)) throw error;
      }
    }
    throw new Problem('overloaded', 'Too many others change this at the same time. Try again shortly.');
  }

  private async refuseIfRightsTaken({ accountId, rightsPosition = Infinity }: ChangeContext): Promise<void> {
    refuseOlderThan(await this.positions.headRow(accountId), rightsPosition);
  }

  /** For a change that is made already, perhaps by an earlier attempt that no standby has yet. */
  private async durableHead({ accountId, rightsPosition = Infinity, deadline }: ChangeContext): Promise<number> {
    const head = await this.positions.durableHeadRow(accountId, deadline);
    refuseOlderThan(head, rightsPosition);
    return head.size;
  }

  private async record(context: ChangeContext, own: StreamAppend, at: Date, options: ChangeOptions): Promise<number> {
    const { accountId, metadata, rightsPosition, deadline } = context;
    const eventId = eventIdOf(metadata);
    const others = (await options.alongside?.(own, at)) ?? [];
    const streams = [...others.map((other) => ({ ...other, causedBy: eventId })), { ...own, eventId }];
    const append = { accountId, metadata, occurredAt: at, rightsPosition, deadline, streams };
    const { position, isDuplicate } = await this.log.append(append);
    if (isDuplicate) throw new Error('this command is in the log already');
    return position;
  }

  private once<State extends object>(
    resource: Resource<State>,
    context: ChangeContext,
    change: () => Promise<Changed<State>>,
  ): Promise<Changed<State>> {
    if (context.metadata.idempotency_key === undefined) return change();
    const repeat = async ({ entity, position }: RecordedChange<State>) => {
      await this.refuseIfRightsTaken(context);
      return new Changed(resource, entity, position, true);
    };
    return this.idempotency.once(resource.model, context, change, repeat);
  }
}

/** Throws Problem when the entity is not as the caller says: its read-only fields in the body of a PATCH, and If-Match. */
function refuseUnexpected<State extends object, Event extends DomainEvent>(
  resource: Resource<State, Event>,
  entity: Entity<State>,
  { ifMatch }: Pick<ChangeContext, 'ifMatch'>,
  sent: object | undefined,
): void {
  if (sent !== undefined) refuseReadOnlyChanges(sent, resource.toResource(entity, ''), resource.readOnlyFields);
  if (ifMatch?.(entity.version) !== false) return;
  throw new Problem('precondition_failed', `If-Match does not hold: the resource's ETag is "${entity.version}" now.`);
}

/** A refusal may tell what only callers with rights may know, and no append has checked the caller's rights. */
const isRefusal = (error: unknown): boolean =>
  error instanceof ClaimRefused || (error instanceof Problem && error.status < 500);

function refuseOlderThan(head: { readonly rightsPosition: number }, rightsPosition: number): void {
  if (head.rightsPosition > rightsPosition) throw new RightsTaken('rights were taken after the decision');
}

/** Rivals are other instances, and changes of other entities that write the same stream. Each lost race has a winner. */
const MAX_ATTEMPTS = 200;
