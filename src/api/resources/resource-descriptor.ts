import type { DomainEvent, Entity, ReadModel } from '../../event-log/index.js';
import type { IdPrefix } from '../../kernel/ids.js';
import type { Problem } from '../../kernel/problem.js';

/**
 * Describes one kind of resource to the runner of changes and the GETs, as data and pure functions.
 * The functions are methods, so that a resource with any types of state and event fits `ResourceDescriptor<object>`.
 */
export interface ResourceDescriptor<State, Event extends DomainEvent = DomainEvent> {
  readonly model: ReadModel<State, Event>;
  readonly idPrefix: IdPrefix;
  /** Path of the list, without a leading slash. */
  readonly path: string;
  /** Key of the items in the answer to the list. Absent: the path. */
  readonly listKey?: string;
  /** Read-only fields of a PATCH, beside id, uri and created_at. */
  readonly readOnlyFields?: readonly string[];
  /** The request that changes a read-only field, by the name of the field. */
  readonly elsewhere?: Readonly<Record<string, string>>;
  /** True: only the owner, admins and auditors see an entity. Absent: everyone in the account sees it. */
  readonly isPrivate?: true;
  /** SQL condition for the rows of table `t` that callers see, if two resources share it or it keeps deleted rows. */
  readonly condition?: string;
  /** The same condition for an entity that was read from the log. Absent: callers see every entity. */
  isLive?(state: State): boolean;
  /** If an entity can be large: the most bytes of a page, and SQL for those of a row `t`, which are no more than in the page. */
  readonly largePages?: { readonly maxBytes: number; readonly bytesOfRow: string };
  /** Query parameters of the list, the one whose index finds the fewest rows first. Only without `isPrivate`. */
  readonly filters?: readonly ListFilter<State>[];
  /** Query parameters of the list that no index answers: a page reads a limited number of entities for them. */
  readonly scans?: readonly ScanFilter<State>[];
  notFound(): Problem;
  toResource(entity: Entity<State>, baseUrl: string): object;
  /**
   * What its sub-resources show, by name: a history shows their changes beside the changes of the entity's own fields.
   */
  partsOf?(state: State): object;
}

/** A query parameter that selects entities of a list. Its SQL is about the rows `t`; $1: account, $2: older than this id. */
export interface ListFilter<State> {
  readonly name: string;
  /** Returns the value in the form that the SQL and `matches` take. Throws Problem. */
  read(text: string): string;
  /**
   * No event changes the field, so an entity that matched earlier matches now or is deleted. The index events_ends finds
   * the deletion.
   */
  readonly isFixed?: true;
  /**
   * No event makes the field, so it has no past. It says when an entity is used: members select among their own, as they see
   * sessions.
   */
  readonly isOfNow?: true;
  /** The relation that has the rows `t`. Absent: the table. $4 is the value, here and in `rows`. */
  readonly from?: string;
  /** Finds the rows by the filter's own index. */
  readonly rows: string;
  /** Newest first, in the order of that index if it has the id. */
  readonly order: string;
  /** The same selection among the rows that another filter finds. */
  condition(value: string): string;
  /** The same selection for an entity that was read from the log. */
  matches(state: State, value: string): boolean;
}

/** A query parameter that selects entities of a list one by one. */
export type ScanFilter<State> = Pick<ListFilter<State>, 'name' | 'read' | 'matches'>;

/** The filter by owner, for a table with an index of account, owner and id. No entity changes its owner. */
export const OF_OWNER = {
  name: 'owner_id',
  isFixed: true,
  rows: `t.account_id = $1 and (t.owner_id, t.id) < ($4, $2) and (t.owner_id, t.id) > ($4, '')`,
  order: 't.owner_id desc, t.id desc',
} as const;

/** A resource whose entities belong to a user or bot, and are deleted with it. Its table has a column owner_id. */
export interface OwnedResourceDescriptor<State, Event extends DomainEvent = DomainEvent>
  extends ResourceDescriptor<State, Event> {
  readonly removal: Event;
}

/** The trigger on the tables of owned resources reports this constraint if the owner of a new row is deleted. */
export const OWNER_DELETED_CONSTRAINT = 'owner_deleted';
