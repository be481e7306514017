import type { ClientBase } from 'pg';
import { type Codec, codecOf } from '../../database/column-codecs.js';
import { FieldReader, type RowBytes } from '../../database/copy-binary.js';
import { OperatorError } from '../../operator-error.js';
import type { AnyReadModel, Row, Table } from '../read-model.js';

/** The definition of a live table differs from what the migrations made. */
class TableError extends OperatorError {
  override readonly name = 'TableError';
}

/** Encodes and decodes rows of a table in COPY's binary format, in the order of `table.columns`. */
export class RowEncoder {
  private constructor(
    readonly table: Table<unknown>,
    private readonly codecs: readonly Codec[],
  ) {}

  /** Reads the types of the live table's columns; its shadow has the same types. */
  static async of(client: ClientBase, table: Table<unknown>): Promise<RowEncoder> {
    const { rows } = await client.query<{ name: string; type: string }>(COLUMN_TYPES, [table.name]);
    const types = new Map(rows.map(({ name, type }) => [name, type]));
    const codecs = table.columns.map((column) => {
      const type = types.get(column);
      if (type === undefined)
        throw new TableError(`table ${table.name} has no column ${column}; run the migrations first`);
      const codec = codecOf(type);
      if (codec === undefined) {
        throw new TableError(
          `${table.name}.${column} is of type ${type}, but no migration made it so; change it back first`,
        );
      }
      return codec;
    });
    return new RowEncoder(table, codecs);
  }

  encode(made: object, to: RowBytes): void {
    const row = made as Row;
    const { columns } = this.table;
    to.beginRow(columns.length);
    let i = 0;
    // Most rows list their values in column order, and iterating costs less than looking up each column.
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

  /**
   * Returns the values of the row at `start` in column order. SQL null becomes undefined, as null can be a JSON value.
   */
  decode(bytes: Buffer, start: number): unknown[] {
    const fields = new FieldReader(bytes);
    fields.beginRow(start);
    return this.codecs.map((codec) => fields.value(codec.read));
  }
}

/** One encoder for each table of a read model. */
export async function encodersOf(client: ClientBase, { tables }: AnyReadModel): Promise<RowEncoder[]> {
  const encoders: RowEncoder[] = [];
  for (const table of tables) encoders.push(await RowEncoder.of(client, table));
  return encoders;
}

const COLUMN_TYPES = `select attname as name, format_type(atttypid, null) as type
  from pg_attribute where attrelid = to_regclass($1) and attnum > 0 and not attisdropped`;
