import type { DomainEvent } from '../event.js';
import { ENTITY_COLUMNS, type Entity, hiddenFieldsOf, type ReadModel, type Row } from '../read-model.js';

/** One field of a thing before and after; null where there was or is no such thing. */
export interface FieldChange {
  readonly field: string;
  readonly from: unknown;
  readonly to: unknown;
}

const OF_EVERY_ROW = new Set<string>(ENTITY_COLUMNS);

/**
 * What turned one state of a thing into another, in the words of its row: that has every field, also those that an event leaves
 * to a default. A deletion changes nothing of a thing, it ends it.
 */
export function changesBetween<State, Event extends DomainEvent>(
  model: ReadModel<State, Event>,
  before: Entity<State> | undefined,
  after: Entity<State> | undefined,
): FieldChange[] {
  if (after === undefined) return [];
  const [old, current] = [rowOf(model, before), rowOf(model, after)];
  const hidden = hiddenFieldsOf(model);
  return Object.entries(current)
    .map(([field, to]) => ({ field, from: old[field] ?? null, to: to ?? null }))
    .filter(({ field, from, to }) => !OF_EVERY_ROW.has(field) && !hidden.has(field) && !isSame(from, to));
}

/** The first table of a model has one row for a thing. */
const rowOf = <State>({ tables }: ReadModel<State, never>, entity: Entity<State> | undefined): Row =>
  (entity === undefined ? undefined : tables[0]?.rowsOf(entity)[0]) ?? {};

const isSame = (a: unknown, b: unknown): boolean => JSON.stringify(a) === JSON.stringify(b);
