import type { Ref } from '../database/index.js';
import type { DomainEvent } from './event.js';

/** The columns that every entity's row begins with, in the types that pg returns. */
export interface EntityRow {
  readonly account_id: string;
  /** Id of the stream, which is the id of the resource. */
  readonly id: string;
  /** Version of the stream: the number of its events. */
  readonly version: number;
  /** When the first event was decided. */
  readonly created_at: Date;
}

export const ENTITY_COLUMNS = ['account_id', 'id', 'version', 'created_at'] as const;

/** An entity has the fields of its row: the columns above, and the state under the names of events and tables. */
export type Entity<State> = EntityRow & State;

/** A row as json_populate_recordset reads it: column names with JSON values. A Date becomes text in JSON. */
export type Row = Readonly<Record<string, unknown>>;

/** A table of current states. Its rows are a pure function of one entity, so live and replayed rows agree. */
export interface Table<State> {
  readonly name: string;
  /** All columns, key first. Statements name them: `*` in a prepared statement breaks when a column is added. */
  readonly columns: readonly string[];
  /** Begins with the column of the account and the column of the stream's id. */
  readonly primaryKey: readonly string[];
  /** In the order of the primary key. */
  rowsOf(entity: Entity<State>): readonly object[];
  /**
   * The values that only this row may have. Commands that share one are never sent in one batch. Rows are sent in the
   * order of these values, because two accounts that take the same values in opposite order would deadlock.
   */
  exclusiveValuesOf(row: Row): readonly string[];
  /** Its rows claim a value for their account: see `Claimed`. */
  readonly claimed?: Claimed;
}

/**
 * A column of texts that belong to one account of the deployment. The first row that has one claims it for its account,
 * and the append of a row of another account is refused until the account has no row with it. The claims of all tables are
 * in one table, under the value `<kind>:<text>`.
 */
export interface Claimed {
  readonly kind: 'hostport' | 'key';
  readonly column: string;
}

/** A text of a claimed column as the table of claims has it. */
export const claimValue = (kind: Claimed['kind'], text: unknown): string => `${kind}:${text}`;

/** The table with one row for each entity. `columns` are the names of the fields that its state may have. */
export const entityTable = <State>(
  name: string,
  columns: readonly (keyof State & string)[],
  exclusiveValuesOf: Table<State>['exclusiveValuesOf'] = () => [],
  claimed?: Claimed,
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
  /** The event may take rights from callers of the account: a change that was decided before it is decided again. */
  readonly takesRights?: true;
  /**
   * Only of a type that this version no longer writes: makes the event that it writes instead, which is all that
   * `evolve` sees. A pure function of the data, since every reader must get the same, and one event stays one event.
   */
  upcast?(data: object): Event;
}

/**
 * Turns the events of one kind of resource into state, and the state into rows of tables.
 * Its functions are methods, so that a model with any types of state and event fits AnyReadModel.
 */
export interface ReadModel<State, Event extends DomainEvent> {
  /** Prefixes of the ids of its streams. */
  readonly streamPrefixes: readonly string[];
  /**
   * Every type of event in its streams: those that this version writes, and earlier ones with their upcasters. An event
   * of another type comes from a newer version and must not be folded.
   */
  readonly events: Readonly<Record<Event['type'], EventFacts<Event>> & Record<string, EventFacts<Event>>>;
  /** The state after an event; undefined once the entity is deleted. */
  evolve(state: State | undefined, event: Event): State | undefined;
  readonly tables: readonly Table<State>[];
}

/** The read model of any resource. A list of these folds a whole log. */
export type AnyReadModel = ReadModel<object, DomainEvent>;

/** `state` may be an earlier version of the entity; the new entity has the new version. */
function entityOf<State>({ accountId, id }: Ref, version: number, createdAt: Date, state: State): Entity<State> {
  const entity = { account_id: accountId, id, version, created_at: createdAt, ...state };
  entity.version = version;
  return entity;
}

/** What `evolve` sees of an event in the log. Undefined for a type of a newer version. Every reader that folds asks here. */
export function currentEvent<State, Event extends DomainEvent>(
  { events }: ReadModel<State, Event>,
  stored: DomainEvent,
): Event | undefined {
  if (!Object.hasOwn(events, stored.type)) return undefined;
  // A type without an upcaster is one that the model's own decisions write.
  return events[stored.type]?.upcast?.(stored.data) ?? (stored as Event);
}

/** Folds the next events of one stream onto its entity. Undefined means that the entity does not exist. */
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
