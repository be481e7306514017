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

/** A JSON line of the log as a line for people: the local time, the level, the message and the fields; then the stack. */
export function toTerminalLine(json: string): string {
  const line: Line = JSON.parse(json);
  const { level, time, msg, context, err } = line;
  const fields = Object.entries(line).filter(([name]) => !UNSAID.has(name));
  const parts = [
    styleText('dim', new Date(time).toLocaleTimeString('en-GB')),
    styleText(STYLES[level], level.toUpperCase().padEnd(5)),
    ...(context === undefined ? [] : [styleText('dim', `[${context}]`)]),
    msg,
    ...fields.map(([name, value]) => styleText('dim', `${name}=${value}`)),
  ];
  return `${parts.join(' ')}\n${err?.stack === undefined ? '' : `${err.stack}\n`}`;
}
