import { print } from './print.js';

/** A column of a table: its title, and its text for an item. */
export type Columns<Item> = Readonly<Record<string, (item: Item) => string>>;

/**
 * Prints items on stdout: with `json` each as a line of JSON, on a terminal as a table with titles, else as lines with
 * tabs between the columns.
 */
export function printItems<Item extends object>(
  items: readonly Item[],
  columns: Columns<Item>,
  { json }: { readonly json?: true | undefined },
): void {
  if (json === true) return items.forEach((item) => void print(JSON.stringify(item)));
  const rows = items.map((item) => Object.values(columns).map((textOf) => textOf(item).replaceAll('\t', ' ')));
  if (process.stdout.isTTY !== true) return rows.forEach((row) => void print(row.join('\t')));
  if (rows.length > 0) for (const line of aligned([Object.keys(columns), ...rows])) print(line);
}

/** Two blanks between the columns, each as wide as its longest text. */
function aligned(rows: readonly (readonly string[])[]): readonly string[] {
  const widths = rows[0]?.map((_, n) => Math.max(...rows.map((row) => row[n]?.length ?? 0))) ?? [];
  return rows.map((row) =>
    row
      .map((text, n) => text.padEnd(widths[n] ?? 0))
      .join('  ')
      .trimEnd(),
  );
}
