import type { ClientBase } from 'pg';
import { type Codec, codecOf } from '../../database/column-codecs.js';
import { FieldReader, type RowBytes } from '../../database/copy-binary.js';
import { OperatorError } from '../../operator-error.js';
import type { AnyReadModel, Row, Table } from '../read-model.js';

/** A live table is not as the migrations made it. */
export class TableError extends OperatorError {
  override readonly name = 'TableError';
}

/** Rows of a table in COPY's binary format, in the order of the table's columns. */
export class RowEncoder {
  private constructor(
    readonly table: Table<unknown>,
    private readonly codecs: readonly Codec[],
  ) {}

  /** Asks the database for the types of the columns; the live table and its shadow have the same. */
  static async of(client: ClientBase, table: Table<unknown>): Promise<RowEncoder> {
    const { rows } = await client.query<{ name: string; type: string }>(COLUMN_TYPES, [table.name]);
    const types = new Map(rows.map(({ name, type }) => [name, type]));
    const codecs = table.columns.map((column) => {
      const type = types.get(column);
      if (type === undefined) throw new TableError(`table ${table.name} has no column ${column}; migrate first`);
      const codec = codecOf(type);
      if (codec === undefined) {
        throw new TableError(
          `${table.name}.${column} is of type ${type}, which no migration made it; change it back first`,
        );
      }
      return codec;
    });
    return new RowEncoder(table, codecs);
  }

  encode(row: Row, to: RowBytes): void {
    const { columns } = this.table;
    to.beginRow(columns.length);
    let i = 0;
    // Most rows are made in the order of the columns, and to walk along one costs less than to look up each.
    for (const column in row) {
      if (column !== columns[i]) break;
      this.write(i, row[column], to);
      i += 1;
    }
    for (; i < columns.length; i += 1) this.write(i, row[columns[i] ?? ''], to);
  }

  private write(column: number, value: unknown, to: RowBytes): void {
    if (value === null || value === undefined) to.null();
    else this.codecs[column]?.write(value, to);
  }

  /** The values of a row that begins there, in the order of the columns; undefined for null, which JSON has too. */
  decode(bytes: Buffer, start: number): unknown[] {
    const fields = new FieldReader(bytes);
    fields.beginRow(start);
    return this.codecs.map((codec) => fields.value(codec.read));
  }
}

/** One for each table of a read model. */
export async function encodersOf(client: ClientBase, { tables }: AnyReadModel): Promise<RowEncoder[]> {
  const encoders: RowEncoder[] = [];
  for (const table of tables) encoders.push(await RowEncoder.of(client, table));
  return encoders;
}

const COLUMN_TYPES = `select attname as name, format_type(atttypid, null) as type
  from pg_attribute where attrelid = to_regclass($1) and attnum > 0 and not attisdropped`;
