import type { Client } from 'pg';
import { copyOut } from '../database/copy.js';
import { inBytes } from '../database/copy-text.js';
import type { AnyReadModel, Table } from './read-model.js';
import { eventsOf, IN_INDEX_ORDER, quoted, replay } from './replay.js';
import type { RowPrinter } from './row-printer.js';

/** A table's rows as lines of COPY's text format, in the order of the primary key, in batches. */
export type Lines = AsyncIterator<readonly string[]>;

export async function* liveRows(client: Client, table: Table<unknown>, account: string | undefined): Lines {
  await client.query(IN_INDEX_ORDER);
  const ofAccount = account === undefined ? '' : ` where t.account_id = ${quoted(account)}`;
  const columns = table.columns.map((column) => `t.${column}`).join(', ');
  yield* copyOut(client, `select ${columns} from ${table.name} t${ofAccount} order by ${table.primaryKey.join(', ')}`);
}

/** The rows that the log makes, in the same form and order: accounts and streams come in theirs. */
export async function* replayedRows(
  client: Client,
  model: AnyReadModel,
  printer: RowPrinter,
  account: string | undefined,
  onEvents: (count: number) => void,
): Lines {
  const { table } = printer;
  await client.query(IN_INDEX_ORDER);
  for await (const streams of replay(client, model, eventsOf(model, account), onEvents)) {
    const lines: string[] = [];
    for (const { entity } of streams) {
      if (entity === undefined) continue;
      const rows = table.rowsOf(entity);
      const printed = rows.map((row) => printer.print(row));
      lines.push(...(printed.length > 1 ? inKeyOrder(printed, table.primaryKey.length) : printed));
    }
    yield lines;
  }
}

/** Key columns come first. */
const inKeyOrder = (lines: readonly string[], keyColumns: number): string[] =>
  lines
    .map((line) => ({ line, key: line.split('\t', keyColumns) }))
    .sort((a, b) => compareKeys(a.key, b.key))
    .map(({ line }) => line);

export function compareKeys(a: readonly string[], b: readonly string[]): number {
  for (let i = 0; i < a.length; i += 1) {
    const order = inBytes(a[i] ?? '', b[i] ?? '');
    if (order !== 0) return order;
  }
  return 0;
}
