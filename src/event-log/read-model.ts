import type { Ref } from '../database/index.js';
import type { DomainEvent } from './event.js';

/** The first columns of every entity's row, in the types that pg returns. */
export interface EntityRow {
  readonly account_id: string;
  /** The id of the stream, which is the id of the resource. */
  readonly id: string;
  /** The version of the stream, which is the number of its events. */
  readonly version: number;
  /** When the first event was decided. */
  readonly created_at: Date;
}

export const ENTITY_COLUMNS = ['account_id', 'id', 'version', 'created_at'] as const;

/** An entity: the columns above, and the fields of its state. These have the same names in events and tables. */
export type Entity<State> = EntityRow & State;

/** A row: column names with JSON values, for json_populate_recordset. A Date becomes text in JSON. */
export type Row = Readonly<Record<string, unknown>>;

/** A table of current states. Its rows are a pure function of one entity, so the log always makes equal rows. */
export interface Table<State> {
  readonly name: string;
  /**
   * All columns, key first. Statements name them, because a prepared statement with `*` breaks when a column is added.
   */
  readonly columns: readonly string[];
  /** Begins with the column of the account and the column of the stream's id. */
  readonly primaryKey: readonly string[];
  /** The rows of an entity, in the order of the primary key. */
  rowsOf(entity: Entity<State>): readonly object[];
  /**
   * The values that only this row may have. Commands that share such a value are never sent in one batch. Rows are sent
   * in the order of these values, because two accounts that take the same values in opposite order would deadlock.
   */
  exclusiveValuesOf(row: Row): readonly string[];
  /** The column whose values may belong to one account only. Absent: there is no such column. */
  readonly claimed?: ClaimedColumn;
}

/**
 * A column whose texts may belong to one account of the deployment only. The first row with a text claims it for its
 * account, and other accounts cannot append a row with this text while the account has one, unless they have reserved
 * it. The claims of all tables are in one table, with the value `<kind>:<text>`.
 */
export interface ClaimedColumn {
  readonly kind: 'hostport' | 'key';
  readonly column: string;
}

/** The value in the table of claims for a text of a claimed column. */
export const claimValue = (kind: ClaimedColumn['kind'], text: unknown): string => `${kind}:${text}`;

/** The table with one row for each entity. `columns` are the names of the fields that its state may have. */
export const entityTable = <State>(
  name: string,
  columns: readonly (keyof State & string)[],
  exclusiveValuesOf: Table<State>['exclusiveValuesOf'] = () => [],
  claimed?: ClaimedColumn,
): Table<State> => ({
  name,
  columns: [...ENTITY_COLUMNS, ...columns],
  primaryKey: ['account_id', 'id'],
  rowsOf: (entity) => [entity],
  exclusiveValuesOf,
  ...(claimed && { claimed }),
});

/** Properties of an event type. */
export interface EventFacts<Event extends DomainEvent = DomainEvent> {
  /** Fields of its data that every answer leaves out, even for admins of the account. */
  readonly hidden?: readonly string[];
  /** The event begins its entity, as the first of its stream. */
  readonly isStart?: true;
  /** The event ends its entity. */
  readonly isEnd?: true;
  /**
   * The event may take rights from callers of the account. A change that was decided before this event is decided
   * again.
   */
  readonly takesRights?: true;
  /**
   * Present for a type that this version no longer writes. It makes the event that this version writes instead, and
   * `evolve` sees only that. It is a pure function of the data, because every reader must get the same event.
   */
  upcast?(data: object): Event;
}

/**
 * Turns the events of one kind of resource into state, and the state into rows of tables.
 * Its functions are methods, so that a model with any types of state and event fits AnyReadModel.
 */
export interface ReadModel<State, Event extends DomainEvent> {
  /** The prefixes of its streams' ids. */
  readonly streamPrefixes: readonly string[];
  /**
   * All types of events in its streams: the types that this version writes, and earlier types with their upcasters. An
   * event of another type comes from a newer version and must not be folded.
   */
  readonly events: Readonly<Record<Event['type'], EventFacts<Event>> & Record<string, EventFacts<Event>>>;
  /** The state after an event. Undefined once the entity is deleted. */
  evolve(state: State | undefined, event: Event): State | undefined;
  readonly tables: readonly Table<State>[];
}

/** The read model of any resource. A list of these folds a whole log. */
export type AnyReadModel = ReadModel<object, DomainEvent>;

/** Finds the model of a stream by the prefix of its id. Undefined for a stream of a newer version. */
export function modelFinder(models: readonly AnyReadModel[]): (streamId: string) => AnyReadModel | undefined {
  const byPrefix = new Map(models.flatMap((model) => model.streamPrefixes.map((prefix) => [prefix, model])));
  return (streamId) => byPrefix.get(streamId.slice(0, streamId.lastIndexOf('_')));
}

/** `state` may be an earlier version of the entity; the new entity has the new version. */
function entityOf<State>({ accountId, id }: Ref, version: number, createdAt: Date, state: State): Entity<State> {
  const entity = { account_id: accountId, id, version, created_at: createdAt, ...state };
  entity.version = version;
  return entity;
}

/** The event that `evolve` gets for a stored event. Undefined for a type of a newer version. Every fold uses this. */
export function currentEvent<State, Event extends DomainEvent>(
  { events }: ReadModel<State, Event>,
  stored: DomainEvent,
): Event | undefined {
  if (!Object.hasOwn(events, stored.type)) return undefined;
  // A type without an upcaster is a type that this version writes.
  return events[stored.type]?.upcast?.(stored.data) ?? (stored as Event);
}

/** Folds the next events of one stream into its entity. Undefined means that the entity does not exist. */
export function fold<State, Event extends DomainEvent>(
  model: ReadModel<State, Event>,
  stream: Ref,
  entity: Entity<State> | undefined,
  events: readonly Event[],
  occurredAt: Date,
): Entity<State> | undefined {
  let state: State | undefined = entity;
  for (const event of events) state = model.evolve(state, event);
  if (state === undefined) return undefined;
  return entityOf(stream, (entity?.version ?? 0) + events.length, entity?.created_at ?? occurredAt, state);
}

/** The fields of a model's events that every answer leaves out. Their columns have the same names. */
export const hiddenFieldsOf = ({ events }: Pick<AnyReadModel, 'events'>): ReadonlySet<string> =>
  new Set(Object.values<EventFacts>(events).flatMap(({ hidden = [] }) => hidden));
