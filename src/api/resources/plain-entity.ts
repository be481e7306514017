import type { Problem } from '../../kernel/problem.js';
import { updatedEvents } from './changed-fields.js';

/**
 * Storage format: the log holds these types. A created event holds the whole state, an updated one the fields that it
 * changes. Add fields to the state as optional; for any other change add a new version.
 */
export type PlainEvent<Name extends string, State> =
  | { readonly type: `${Name}_created.v1`; readonly data: State }
  | { readonly type: `${Name}_updated.v1`; readonly data: Partial<State> }
  | { readonly type: `${Name}_deleted.v1`; readonly data: object };

/** Fold and decisions of a resource whose fields have no rules among each other. `name` begins its event types. */
export function plainEntity<Name extends string, State extends object>(name: Name, notFound: () => Problem) {
  type Event = PlainEvent<Name, State>;
  const [created, updated, deleted] = [`${name}_created.v1`, `${name}_updated.v1`, `${name}_deleted.v1`] as const;
  const require = (state: State | undefined): State => {
    if (state === undefined) throw notFound();
    return state;
  };
  return {
    evolve(state: State | undefined, event: Event): State | undefined {
      if (event.type === deleted) return undefined;
      if (event.type === created) return event.data as State;
      return state && { ...state, ...event.data };
    },
    create: (fields: State): readonly Event[] => [{ type: created, data: fields }],
    update: (state: State | undefined, changes: Partial<State>): readonly Event[] =>
      updatedEvents(updated, changes, require(state)),
    /** `data`: the data of the event, if it has any. */
    remove: (state: State | undefined, data: object = {}): readonly Event[] => {
      require(state);
      return [{ type: deleted, data }];
    },
  };
}
