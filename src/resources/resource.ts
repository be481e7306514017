import type { IdPrefix } from '../ids.js';
import type { DomainEvent } from '../log/event.js';
import type { Entity, ReadModel } from '../log/read-model.js';
import type { Problem } from '../problem.js';

/**
 * What the runner of changes and the GETs know of one kind of resource: data, and pure functions.
 * The functions are methods, so that any resource can stand where its types do not matter.
 */
export interface Resource<State, Event extends DomainEvent = DomainEvent> {
  readonly model: ReadModel<State, Event>;
  readonly idPrefix: IdPrefix;
  /** Path of the list, without a slash in front. */
  readonly path: string;
  /** Name of the list in its JSON. */
  readonly plural: string;
  /** Fields that a PATCH may hold only with their current values, beside id, uri and created_at. */
  readonly readOnlyFields?: readonly string[];
  /** True: only the owner and the admins see an entity. Otherwise everyone of the account does. */
  readonly isPrivate?: true;
  /** SQL over table `t`: which of its rows callers see. For a table that two resources share, or that keeps deleted rows. */
  readonly condition?: string;
  /** The same for an entity that was read from the log. Absent: all of them. */
  isShown?(state: State): boolean;
  notFound(): Problem;
  toResource(entity: Entity<State>, baseUrl: string): object;
}

/** A resource whose entities belong to a user or bot, and are deleted with it. Its table has a column owner_id. */
export interface OwnedResource<State, Event extends DomainEvent = DomainEvent> extends Resource<State, Event> {
  readonly removal: Event;
}

/** The trigger on the tables of owned resources reports this constraint: nothing new for a deleted owner. */
export const OWNER_DELETED_CONSTRAINT = 'owner_deleted';
