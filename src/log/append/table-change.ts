import type { DomainEvent } from '../event.js';
import type { Entity, ReadModel, Row, Table } from '../read-model.js';

/** What one command does to one table: rows to write whole, and keys of rows to take away. */
export interface TableChange {
  readonly table: Table<never>;
  readonly put: readonly Row[];
  /** Key columns only: that is all a deletion needs, and a row may hold a key of 16 KiB. */
  readonly remove: readonly Row[];
  /** Every exclusive value that the change takes, keeps or frees. */
  readonly exclusiveValues: readonly string[];
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
  return model.tables.map((table) =>
    tableChange(
      table,
      before === undefined ? [] : table.rowsOf(before),
      after === undefined ? [] : table.rowsOf(after),
    ),
  );
}

/** What turns the old rows of one entity into the new ones. */
export function tableChange(table: Table<never>, old: readonly Row[], current: readonly Row[]): TableChange {
  const unchanged = new Set(old.map((row) => JSON.stringify(row)));
  const put = old.length === 0 ? current : current.filter((row) => !unchanged.has(JSON.stringify(row)));
  const kept = new Set(current.map((row) => keyText(table, row)));
  const removed = old.filter((row) => !kept.has(keyText(table, row)));
  return {
    table,
    put,
    remove: removed.map((row) => Object.fromEntries(table.primaryKey.map((column) => [column, row[column]]))),
    exclusiveValues: [...old, ...current].flatMap((row) => table.exclusiveValuesOf(row)),
  };
}

/** The order in which rows are sent: by exclusive value where there is one, else by key. */
export const sendingOrder = (table: Table<never>, row: Row): string =>
  table.exclusiveValuesOf(row).at(0) ?? keyText(table, row);

export const keyText = (table: Table<never>, row: Row): string =>
  JSON.stringify(table.primaryKey.map((column) => row[column]));
