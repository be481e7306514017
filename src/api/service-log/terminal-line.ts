import { styleText } from 'node:util';

/** Fields without a place of their own in a line for people: the message has them, or the terminal has one process. */
const UNSAID = new Set(['level', 'time', 'pid', 'hostname', 'msg', 'context', 'err', 'method', 'route', 'status']);

const STYLES = { fatal: 'red', error: 'red', warn: 'yellow', info: 'green', debug: 'dim' } as const;

interface Line {
  readonly level: keyof typeof STYLES;
  readonly time: string;
  readonly msg: string;
  readonly context?: string;
  readonly err?: { readonly stack?: string };
}

/** Ids say nothing to who reads along. */
const IS_ID = /^account$|_id$/;
const MAX_COLUMNS = 120;

/**
 * A JSON line of the log as a line for people: the local time, the level, the message and the fields; then the stack.
 * Unless it must be whole, it has no ids, and goes on in a further line after 120 columns.
 */
export function toTerminalLine(json: string, isWhole: boolean): string {
  const line: Line = JSON.parse(json);
  const { level, time, msg, context, err } = line;
  const fields = Object.entries(line).filter(([name]) => !UNSAID.has(name) && (isWhole || !IS_ID.test(name)));
  const parts: Part[] = [
    [new Date(time).toLocaleTimeString('en-GB'), 'dim'],
    [level.toUpperCase().padEnd(5), STYLES[level]],
    ...(context === undefined ? [] : [[`[${context}]`, 'dim'] as const]),
    ...msg.split(' ').map((word) => [word] as const),
    ...fields.map(([name, value]) => [`${name}=${value}`, 'dim'] as const),
  ];
  const rows = isWhole ? [parts] : rowsOf(parts);
  const text = rows.map((row) => row.map(styled).join(' ')).join(`\n${INDENT}`);
  return `${text}\n${err?.stack === undefined ? '' : `${err.stack}\n`}`;
}

type Part = readonly [text: string, style?: 'dim' | (typeof STYLES)[keyof typeof STYLES]];
/** As wide as time and level. */
const INDENT = ' '.repeat(15);

const styled = ([text, style]: Part): string => (style === undefined ? text : styleText(style, text));

function rowsOf(parts: readonly Part[]): readonly (readonly Part[])[] {
  const rows: Part[][] = [];
  let used = MAX_COLUMNS;
  for (const part of parts) {
    const [{ length }] = part;
    if (used + 1 + length > MAX_COLUMNS) {
      used = rows.length === 0 ? 0 : INDENT.length;
      rows.push([]);
    }
    rows.at(-1)?.push(part);
    used += 1 + length;
  }
  return rows;
}
