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
 * Unless it must be whole, it has no ids, and a routine line has at most 120 columns.
 */
export function toTerminalLine(json: string, isWhole: boolean): string {
  const line: Line = JSON.parse(json);
  const { level, time, msg, context, err } = line;
  const fields = Object.entries(line).filter(([name]) => !UNSAID.has(name) && (isWhole || !IS_ID.test(name)));
  const parts: [text: string, style?: 'dim' | (typeof STYLES)[typeof level]][] = [
    [new Date(time).toLocaleTimeString('en-GB'), 'dim'],
    [level.toUpperCase().padEnd(5), STYLES[level]],
    ...(context === undefined ? [] : [[`[${context}]`, 'dim'] as [string, 'dim']]),
    [msg],
    ...fields.map(([name, value]) => [`${name}=${value}`, 'dim'] as [string, 'dim']),
  ];
  const shown = isWhole || level !== 'info' ? parts : fitting(parts);
  const text = shown.map(([part, style]) => (style === undefined ? part : styleText(style, part))).join(' ');
  return `${text}\n${err?.stack === undefined ? '' : `${err.stack}\n`}`;
}

/** What fits into the columns. What is cut ends with an ellipsis. */
function fitting<Part extends readonly [text: string, ...rest: unknown[]]>(parts: readonly Part[]): readonly Part[] {
  let left = MAX_COLUMNS;
  return parts.flatMap((part) => {
    const [text, ...rest] = part;
    if (left < 2) return [];
    const cut = text.length > left ? `${text.slice(0, left - 1)}…` : text;
    left -= cut.length + 1;
    return [[cut, ...rest] as unknown as Part];
  });
}
