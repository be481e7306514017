import type { ClientBase } from 'pg';
import { printerOf, type ToText } from '../database/copy-text.js';
import type { AnyReadModel, Row, Table } from './read-model.js';

/** Prints rows of a table as COPY does, in the order of the table's columns. */
export class RowPrinter {
  private readonly columns: readonly string[];

  private constructor(
    readonly table: Table<unknown>,
    private readonly printers: readonly ToText[],
    private readonly types: readonly (string | undefined)[],
  ) {
    this.columns = table.columns;
  }

  /** Asks the database for the types of the columns; the live table and its shadow have the same. */
  static async of(client: ClientBase, table: Table<unknown>): Promise<RowPrinter> {
    const { name, columns } = table;
    const { rows } = await client.query<{ name: string; type: string }>(COLUMN_TYPES, [name]);
    const types = new Map(rows.map((row) => [row.name, row.type]));
    const unknown = columns.filter((column) => !types.has(column));
    if (unknown.length > 0) throw new Error(`table ${name} has no column ${unknown.join(', ')}; migrate first`);
    const inOrder = columns.map((column) => types.get(column));
    return new RowPrinter(
      table,
      inOrder.map((type) => printerOf(type ?? '')),
      inOrder,
    );
  }

  /** Whether the column holds JSON, of which several texts mean the same. */
  isJson(column: number): boolean {
    return this.types[column] === 'jsonb';
  }

  print(row: Row): string {
    let line = '';
    for (let i = 0; i < this.columns.length; i += 1) {
      const text = this.printers[i]?.(row[this.columns[i] ?? '']);
      line = i === 0 ? `${text}` : `${line}\t${text}`;
    }
    return line;
  }
}

/** One for each table of a read model. */
export async function printersOf(client: ClientBase, { tables }: AnyReadModel): Promise<RowPrinter[]> {
  const printers: RowPrinter[] = [];
  for (const table of tables) printers.push(await RowPrinter.of(client, table));
  return printers;
}

const COLUMN_TYPES = `select attname as name, format_type(atttypid, atttypmod) as type
  from pg_attribute where attrelid = to_regclass($1) and attnum > 0 and not attisdropped`;
