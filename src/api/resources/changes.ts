import { Injectable } from '@nestjs/common';
import { type Ref, untilReachable } from '../../database/index.js';
import {
  ClaimRefused,
  ConstraintViolated,
  type DomainEvent,
  type Entity,
  EventLog,
  eventIdOf,
  fold,
  LogPositions,
  LogReader,
  RightsTaken,
  type StreamAppend,
  StreamConflict,
} from '../../event-log/index.js';
import { IdSource, isId } from '../../kernel/ids.js';
import { KeyedQueue } from '../../kernel/keyed-queue.js';
import { Problem } from '../../kernel/problem.js';
import { Answer } from '../http/answer.js';
import { etagOf } from '../http/preconditions.js';
import type { ChangeContext } from '../http/request-context.js';
import { EntityQueries } from './entity-queries.js';
import { AlreadyRecorded, Idempotency } from './idempotency.js';
import { refuseReadOnlyChanges } from './read-only-fields.js';
import type { ResourceDescriptor } from './resource-descriptor.js';

/** The answer to a command: an entity after its change, rendered by its resource. */
export class Changed<State> extends Answer {
  constructor(
    private readonly resource: ResourceDescriptor<State>,
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

/**
 * What it means that a constraint refuses the change, by the name of the constraint. 'again': the next attempt looks up
 * what others changed meanwhile.
 */
export type Refusals = Readonly<Record<string, 'again' | (() => Problem | Promise<Problem>)>>;

export interface ChangeOptions {
  /** The body of a PATCH: its read-only fields must have their current values. */
  readonly sent?: object;
  /** Of a create: the maximum by which the triggers of its table count again in the append. */
  readonly maximum?: number;
  readonly refusals?: Refusals;
  /** What other streams record in the same append, caused by the change. Throws Problem when they forbid it. */
  alongside?(own: StreamAppend, at: Date): Promise<readonly StreamAppend[]>;
}

/**
 * An attempt can lose to other instances, and to changes of other entities that write the same stream. Each race that
 * it loses lets another change through.
 */
const MAX_ATTEMPTS = 200;

/** A change on its way to the log. */
interface RequestedChange<State, Event, Context> {
  readonly resource: ResourceDescriptor<State, Event & DomainEvent>;
  readonly requested: Context;
  /** Absent: the change creates an entity, with a new id at each attempt. */
  readonly id?: string;
  readonly options: ChangeOptions;
  decide(before: Entity<State> | undefined, context: Context, at: Date, id: string): Decided<Event>;
}

/** The one way from a decision to the log. */
@Injectable()
export class Changes {
  private readonly queue = new KeyedQueue();

  constructor(
    private readonly log: EventLog,
    private readonly entities: EntityQueries,
    private readonly positions: LogPositions,
    private readonly idempotency: Idempotency,
    private readonly ids: IdSource,
    private readonly reader: LogReader,
  ) {}

  create<State extends object, Event extends DomainEvent, Context extends ChangeContext>(
    resource: ResourceDescriptor<State, Event>,
    requested: Context,
    decide: (newId: string, context: Context, at: Date) => Decided<Event>,
    options: ChangeOptions = {},
  ): Promise<Changed<State>> {
    return this.run({ resource, requested, options, decide: (_, context, at, id) => decide(id, context, at) });
  }

  /**
   * Changes of one entity run one after another: all but one of them would lose the race. The key has the account, so no
   * account waits for another.
   */
  apply<State extends object, Event extends DomainEvent, Context extends ChangeContext>(
    resource: ResourceDescriptor<State, Event>,
    requested: Context,
    id: string,
    decide: Decision<State, Event, Context>,
    options: ChangeOptions = {},
  ): Promise<Changed<State>> {
    const change = { resource, requested, id, options, decide };
    return this.queue.run(`${requested.accountId} ${id}`, () => this.run(change));
  }

  /** Every answer holds for the caller's rights at the end: the append checks them, and so does any other way out. */
  private async run<State extends object, Event extends DomainEvent, Context extends ChangeContext>(
    change: RequestedChange<State, Event, Context>,
  ): Promise<Changed<State>> {
    let context = change.requested;
    const { deadline = performance.now() + this.log.deadlineMs } = context;
    for (let n = 1; n <= MAX_ATTEMPTS; n += 1) {
      try {
        // The log itself waits for a database that is away. These are the look-ups before it.
        return await untilReachable(deadline, () => this.attempt(change, context));
      } catch (error) {
        const hasOldRights = error instanceof RightsTaken || (isRefusal(error) && (await this.areRightsTaken(context)));
        if (hasOldRights) context = (await context.renewed?.()) ?? context;
        else if (!isLostRace(error)) await throwRefusal(error, change.options.refusals);
      }
    }
    throw new Problem('overloaded', 'Too many others change this at the same time. Try again shortly.');
  }

  /** Recorded already? Otherwise load, decide, guard, append. */
  private async attempt<State extends object, Event extends DomainEvent, Context extends ChangeContext>(
    { resource, id: existing, options, decide }: RequestedChange<State, Event, Context>,
    context: Context,
  ): Promise<Changed<State>> {
    const { model, idPrefix } = resource;
    const { accountId } = context;
    const recorded = await this.idempotency.find(model, context);
    if (recorded !== undefined) {
      if (await this.areRightsTaken(context)) throw new RightsTaken();
      return new Changed(resource, recorded.entity, recorded.position, true);
    }
    try {
      const before = existing ? await this.load(resource, { accountId, id: existing }) : undefined;
      const at = this.ids.now();
      const id = existing ?? this.ids.next(idPrefix, at);
      const events = await decide(before, context, at, id);
      if (before !== undefined) refuseUnexpected(resource, before, context, options.sent);
      if (events.length === 0) return new Changed(resource, before, await this.durableHead(context));
      const after = fold(model, { accountId, id }, before, events, at);
      const own = { model, id, before, events, after, maximum: options.maximum };
      const position = await this.append(context, own, at, options);
      return new Changed(resource, after, position);
    } catch (error) {
      // A copy of this request may have won. The next attempt answers with its change.
      if (await this.idempotency.isRecorded(context)) throw new AlreadyRecorded();
      throw error;
    }
  }

  /** The log knows the state of a resource without a table. Its streams are short. */
  private load<State extends object, Event extends DomainEvent>(
    resource: ResourceDescriptor<State, Event>,
    ref: Ref,
  ): Promise<Entity<State> | undefined> {
    if (resource.model.tables.length > 0) return this.entities.find(resource, ref);
    if (!isId(ref.id, resource.idPrefix)) return Promise.resolve(undefined);
    return this.reader.entityNow(resource.model, ref);
  }

  private async areRightsTaken({ accountId, rightsPosition = Infinity }: ChangeContext): Promise<boolean> {
    return (await this.positions.headRow(accountId)).rightsPosition > rightsPosition;
  }

  /**
   * The head for a change that is made already. An earlier attempt may have made it, and no standby may have it yet.
   */
  private async durableHead({ accountId, rightsPosition = Infinity, deadline }: ChangeContext): Promise<number> {
    const head = await this.positions.durableHeadRow(accountId, deadline);
    if (head.rightsPosition > rightsPosition) throw new RightsTaken();
    return head.size;
  }

  private async append(context: ChangeContext, own: StreamAppend, at: Date, options: ChangeOptions): Promise<number> {
    const { accountId, metadata, rightsPosition, deadline } = context;
    const eventId = eventIdOf(metadata);
    const others = (await options.alongside?.(own, at)) ?? [];
    const streams = [...others.map((other) => ({ ...other, causedBy: eventId })), { ...own, eventId }];
    const append = { accountId, metadata, occurredAt: at, rightsPosition, deadline, streams };
    const { position, isDuplicate } = await this.log.append(append);
    if (isDuplicate) throw new AlreadyRecorded();
    return position;
  }
}

/** Throws Problem when the entity is not as the caller says: its read-only fields in the body of a PATCH, and If-Match. */
function refuseUnexpected<State extends object, Event extends DomainEvent>(
  resource: ResourceDescriptor<State, Event>,
  entity: Entity<State>,
  { ifMatch }: Pick<ChangeContext, 'ifMatch'>,
  sent: object | undefined,
): void {
  if (sent !== undefined) refuseReadOnlyChanges(sent, resource.toResource(entity, ''), resource);
  refuseOtherVersion(entity, ifMatch);
}

/** Throws Problem unless If-Match holds. */
export function refuseOtherVersion({ version }: { readonly version: number }, ifMatch: ChangeContext['ifMatch']): void {
  if (ifMatch?.(version) !== false) return;
  throw new Problem('precondition_failed', `If-Match does not hold: the resource's ETag is "${version}" now.`);
}

/** A refusal may tell what only callers with rights may know, and no append has checked the caller's rights. */
const isRefusal = (error: unknown): boolean =>
  error instanceof ClaimRefused || (error instanceof Problem && error.status < 500);

/** Throws unless the next attempt can find what refused this one. */
async function throwRefusal(error: unknown, refusals: Refusals = {}): Promise<void> {
  const refusal = error instanceof ConstraintViolated ? refusals[error.constraint] : undefined;
  if (refusal !== 'again') throw (await refusal?.()) ?? error;
}

/** The next attempt finds the newer version, or the event of the same request. */
const isLostRace = (error: unknown): boolean => error instanceof StreamConflict || error instanceof AlreadyRecorded;
