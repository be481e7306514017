import { print } from './print.js';

/** The option of each command that prints items. */
export const JSON_OPTION = ['--json', 'print each item as a line of JSON'] as const;

export interface Printing {
  readonly json?: true | undefined;
}

/** A column of a table: its title, and its text for an item. */
export type Columns<Item> = Readonly<Record<string, (item: Item) => string>>;

/**
 * Prints items on stdout: with `json` each as a line of JSON, on a terminal as a table with titles, else as lines with
 * tabs between the columns.
 */
export function printItems<Item extends object>(
  items: readonly Item[],
  columns: Columns<Item>,
  { json }: Printing,
): void {
  const lines = json === true ? items.map((item) => JSON.stringify(item)) : linesOf(items, columns);
  for (const line of lines) print(line);
}

function linesOf<Item extends object>(items: readonly Item[], columns: Columns<Item>): readonly string[] {
  const rows = items.map((item) => Object.values(columns).map((textOf) => textOf(item).replaceAll('\t', ' ')));
  if (process.stdout.isTTY !== true) return rows.map((row) => row.join('\t'));
  return rows.length === 0 ? [] : aligned([Object.keys(columns), ...rows]);
}

/** Prints what a command has made: its id, or with `json` all of it. */
export const printMade = (item: { readonly id: string }, { json }: Printing): void =>
  print(json === true ? JSON.stringify(item) : item.id);

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
