import type { DomainEvent } from './event.js';

/** A thing as its stream's events make it: the state that decisions see, and what the envelope of the events adds. */
export interface Entity<State> {
  readonly accountId: string;
  /** The stream's id, which is the resource's id. */
  readonly id: string;
  /** The stream's version: how many events made this state. */
  readonly version: number;
  /** When the first event was decided. */
  readonly createdAt: Date;
  readonly state: State;
}

/** A row in the form PostgreSQL's json_populate_recordset reads: column names, and JSON values or a Date, which JSON writes as a text. */
export type Row = Readonly<Record<string, unknown>>;

/** A table that shows the current state of entities. Its rows are a pure function of one entity, so live and replayed rows agree. */
export interface Table<State> {
  readonly name: string;
  /** All columns, key first. Named everywhere, since `*` in a prepared statement breaks when a column is added. */
  readonly columns: readonly string[];
  /** Begins with the account and the id of the stream that makes the row, whatever that column is called. */
  readonly primaryKey: readonly string[];
  rowsOf(entity: Entity<State>): readonly Row[];
  /**
   * The values this row holds exclusively. Commands that share one are never sent in one batch, and rows are sent in the
   * order of these values, else two accounts that take the same ones in opposite order deadlock.
   */
  exclusiveValuesOf(row: Row): readonly string[];
}

/** What is to be known of a type of event beyond its data. */
export interface EventFacts {
  /** Fields of its data that stay in the log: nobody is shown them, not even the account's admins. */
  readonly hidden?: readonly string[];
  /** Nothing of the thing is shown any more after it. */
  readonly isEnd?: true;
}

/** What the log knows of one kind of resource: how its events become state, and in which tables that state is shown. */
export interface ReadModel<State, Event extends DomainEvent> {
  /** Prefix of the ids of its streams. */
  readonly streamPrefixes: readonly string[];
  /** Every type of event that its streams hold. An event of another type is a newer version's, and must not be folded. */
  readonly events: Readonly<Record<Event['type'], EventFacts>>;
  /** The state after an event; undefined once the thing is deleted. */
  readonly evolve: (state: State | undefined, event: Event) => State | undefined;
  readonly tables: readonly Table<State>[];
}

/** The columns that every entity's row begins with. */
export const ENTITY_COLUMNS = ['account_id', 'id', 'version', 'created_at'] as const;

export const entityRow = (entity: Entity<unknown>): Row => ({
  account_id: entity.accountId,
  id: entity.id,
  version: entity.version,
  created_at: entity.createdAt,
});

/** The entity a row stands for: the reverse of `entityRow`. */
export const entityOf = <State>(row: EntityRow, state: State): Entity<State> => ({
  accountId: row.account_id,
  id: row.id,
  version: row.version,
  createdAt: row.created_at,
  state,
});

/** The columns of `entityRow` as pg returns them. */
export interface EntityRow {
  readonly account_id: string;
  readonly id: string;
  readonly version: number;
  readonly created_at: Date;
}

/** Folds one stream's next events onto an entity; undefined stands for "does not exist", before creation and after deletion. */
export function fold<State, Event extends DomainEvent>(
  model: ReadModel<State, Event>,
  stream: { readonly accountId: string; readonly id: string },
  entity: Entity<State> | undefined,
  events: readonly Event[],
  occurredAt: Date,
): Entity<State> | undefined {
  const state = events.reduce(model.evolve, entity?.state);
  if (state === undefined) return undefined;
  const version = (entity?.version ?? 0) + events.length;
  // Field by field: replay does this a million times, and a spread costs it as much as the rest.
  return { accountId: stream.accountId, id: stream.id, version, createdAt: entity?.createdAt ?? occurredAt, state };
}

/** A read model whose types are not known where it is used: what a log is folded with as a whole. */
export type AnyReadModel = ReadModel<unknown, DomainEvent>;

/** The log holds what a model's own decisions made, and `events` tells them, so its events are of the model's type. */
export const anyReadModel = <State, Event extends DomainEvent>(model: ReadModel<State, Event>): AnyReadModel =>
  model as unknown as AnyReadModel;

/** The fields of a model's events that nobody is shown; the columns that hold them have the same names. */
export const hiddenFieldsOf = ({ events }: Pick<ReadModel<never, never>, 'events'>): ReadonlySet<string> =>
  new Set(Object.values<EventFacts>(events).flatMap(({ hidden = [] }) => hidden));
