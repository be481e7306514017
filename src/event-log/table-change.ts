import type { DomainEvent } from './event.js';
import type { Entity, ReadModel, Row, Table } from './read-model.js';

/** What one command does to one table: rows to write whole, rows to take away by key. */
export interface TableChange {
  readonly table: Table<never>;
  readonly put: readonly Row[];
  readonly remove: readonly Row[];
}

/**
 * The difference between an entity's rows before and after its new events, in every table of its read model. Rows that
 * stay the same are not written again: an edge may list a thousand hostports and change its description.
 */
export function tableChanges<State, Event extends DomainEvent>(
  model: ReadModel<State, Event>,
  before: Entity<State> | undefined,
  after: Entity<State> | undefined,
): readonly TableChange[] {
  return model.tables.map((table) => {
    const old = before === undefined ? [] : table.rowsOf(before);
    const current = after === undefined ? [] : table.rowsOf(after);
    if (old.length === 0) return { table, put: current, remove: [] };
    const kept = new Set(current.map((row) => keyOf(table, row)));
    const unchanged = new Set(old.map((row) => JSON.stringify(row)));
    return {
      table,
      put: current.filter((row) => !unchanged.has(JSON.stringify(row))),
      remove: old.filter((row) => !kept.has(keyOf(table, row))),
    };
  });
}

/** Every exclusive value that the change takes or frees. */
export const exclusiveValues = (change: TableChange): string[] =>
  [...change.put, ...change.remove].flatMap((row) => change.table.exclusiveValuesOf(row));

/** The order in which rows are sent: by exclusive value where there is one, else by key. */
export const sendingOrder = (table: Table<never>, row: Row): string =>
  table.exclusiveValuesOf(row).at(0) ?? keyOf(table, row);

const keyOf = (table: Table<never>, row: Row): string => JSON.stringify(table.primaryKey.map((column) => row[column]));
