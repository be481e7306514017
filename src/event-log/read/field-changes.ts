import type { DomainEvent } from '../event.js';
import { ENTITY_COLUMNS, type Entity, hiddenFieldsOf, type ReadModel } from '../read-model.js';

/** The value of one field before and after an event. It is null while the entity does not exist. */
export interface FieldChange {
  readonly field: string;
  readonly from: unknown;
  readonly to: unknown;
}

const ENVELOPE = new Set<string>(ENTITY_COLUMNS);

/** The stored fields that differ between two states of an entity, for the operator. */
export function changesBetween<State, Event extends DomainEvent>(
  model: ReadModel<State, Event>,
  before: Entity<State> | undefined,
  after: Entity<State> | undefined,
): FieldChange[] {
  const hidden = hiddenFieldsOf(model);
  return changedFields(before, after).filter(({ field }) => !ENVELOPE.has(field) && !hidden.has(field));
}

/**
 * The fields that differ between two states of any form. It compares states and not events, because an event may leave
 * a field to its default. A deletion changes no field, because it ends the entity.
 */
export function changedFields(before: object | undefined, after: object | undefined): FieldChange[] {
  const old: Readonly<Record<string, unknown>> = { ...before };
  return Object.entries({ ...after })
    .map(([field, to]) => ({ field, from: old[field] ?? null, to: to ?? null }))
    .filter(({ from, to }) => !isSame(from, to));
}

const isSame = (a: unknown, b: unknown): boolean => JSON.stringify(a) === JSON.stringify(b);
