import type { DomainEvent } from '../event.js';
import { ENTITY_COLUMNS, type Entity, hiddenFieldsOf, type ReadModel } from '../read-model.js';

/** One field of an entity before and after; null where there was or is no entity. */
export interface FieldChange {
  readonly field: string;
  readonly from: unknown;
  readonly to: unknown;
}

const ENVELOPE = new Set<string>(ENTITY_COLUMNS);

/**
 * What turned one state of an entity into another. The row has every field, also those that an event leaves to a
 * default. A deletion changes no field: it ends the entity.
 */
export function changesBetween<State, Event extends DomainEvent>(
  model: ReadModel<State, Event>,
  before: Entity<State> | undefined,
  after: Entity<State> | undefined,
): FieldChange[] {
  const old: Readonly<Record<string, unknown>> = { ...before };
  const hidden = hiddenFieldsOf(model);
  return Object.entries({ ...after })
    .map(([field, to]) => ({ field, from: old[field] ?? null, to: to ?? null }))
    .filter(({ field, from, to }) => !ENVELOPE.has(field) && !hidden.has(field) && !isSame(from, to));
}

const isSame = (a: unknown, b: unknown): boolean => JSON.stringify(a) === JSON.stringify(b);
