import { hostname } from 'node:os';
import type { GatewayLog } from '../gateway-log.js';

/** The most characters in a log line of the gateway, whatever clients send. */
export const MAX_LINE_CHARACTERS = 1_000;
/** Characters that the log of the process adds: level, time, process and the name of the host. */
const ADDED_CHARACTERS = 100 + hostname().length;
/** Characters that it adds to an error: its type and code. */
const ADDED_TO_ERROR_CHARACTERS = 100;
const MIN_CUT_CHARACTERS = 8;
const CUT = '...';
/** Characters that could begin a line, move the cursor of a terminal, or turn the direction of its text. */
const INVISIBLE = /[\p{Cc}\p{Cf}\p{Cs}\p{Zl}\p{Zp}]/gu;

export interface BoundedLine {
  readonly fields: object;
  readonly message: string;
  /** The length of the whole line, as JSON. */
  readonly characters: number;
}

/** Makes a line without invisible characters, and cuts its longest texts until the line is short enough. */
export function boundedLine(fields: object, message: string): BoundedLine {
  const { err, ...others } = fields as { readonly err?: unknown };
  const texts = err instanceof Error ? { error: plain(err.message), stack: framesOf(err) } : {};
  const line: Record<string, unknown> = { ...plainFields(others), ...texts, message: plain(message) };
  const added = ADDED_CHARACTERS + (err instanceof Error ? ADDED_TO_ERROR_CHARACTERS : 0);
  const characters = (): number => JSON.stringify(line).length + added;
  while (characters() > MAX_LINE_CHARACTERS && cutLongest(line));
  const { message: cut, error, stack, ...rest } = line;
  const whole = err instanceof Error ? { ...rest, err: copyOf(err, String(error), String(stack)) } : rest;
  return { fields: whole, message: String(cut), characters: characters() };
}

/** Writes to the log of the process, and bounds each line. */
export class BoundedLog implements GatewayLog {
  constructor(private readonly log: GatewayLog) {}

  line(level: Parameters<GatewayLog['line']>[0], fields: object, message: string): void {
    const line = boundedLine(fields, message);
    this.log.line(level, line.fields, line.message);
  }
}

const plain = (text: string): string => text.replace(INVISIBLE, '?');

const plainFields = (fields: object): object =>
  Object.fromEntries(
    Object.entries(fields).map(([name, value]) => [name, typeof value === 'string' ? plain(value) : value]),
  );

/** The frames of the stack, without the message: that can hold lines of a client. */
const framesOf = ({ stack = '' }: Error): string =>
  stack
    .split('\n')
    .filter((line) => /^ {4}at /.test(line))
    .map(plain)
    .join('\n');

function copyOf(error: Error, message: string, frames: string): Error {
  const code = 'code' in error && { code: error.code };
  return Object.assign(new Error(message), { name: error.name, stack: `${error.name}: ${message}\n${frames}` }, code);
}

/** False if no text is long enough to be cut. */
function cutLongest(line: Record<string, unknown>): boolean {
  const texts = Object.entries(line).filter((entry): entry is [string, string] => typeof entry[1] === 'string');
  const [longest] = texts.sort(([, one], [, other]) => other.length - one.length);
  if (longest === undefined || longest[1].length < MIN_CUT_CHARACTERS) return false;
  const [name, text] = longest;
  line[name] = plain(text.slice(0, Math.floor(text.length / 2))) + CUT;
  return true;
}
