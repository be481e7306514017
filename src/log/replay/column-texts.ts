/**
 * Texts of values as PostgreSQL prints them itself, so that the proof can compare rows as texts. If a text is spelled
 * otherwise, PostgreSQL compares the values, which takes longer.
 */
type TextOf = (value: unknown) => string;

/** `type`: the name by format_type. Undefined for a type that no read model's column has. */
export const textOfType = (type: string): TextOf | undefined => TEXTS.get(type);

/** `2026-01-02 03:04:05.67+00`, without the fraction's last zeros, in the time zone UTC. */
function timeText(time: Date): string {
  const iso = time.toISOString();
  return `${iso.slice(0, -14)} ${iso.slice(-13, -5)}${iso.slice(-5).replace(LAST_ZEROS, '+00')}`;
}
const LAST_ZEROS = /\.?0*Z$/;

/** An array has no escape but the backslash within quotes. */
const arrayText = (values: readonly unknown[]): string =>
  `{${values.map((value) => quotedIfNeeded(String(value))).join(',')}}`;

const NEEDS_QUOTES = /^$|[ \t-\r{}",\\]|^null$/i;

const quotedIfNeeded = (text: string): string =>
  NEEDS_QUOTES.test(text) ? `"${text.replace(/["\\]/g, '\\$&')}"` : text;

function jsonbText(value: unknown): string {
  if (typeof value !== 'object' || value === null) return JSON.stringify(value);
  if (Array.isArray(value)) return `[${value.map(jsonbText).join(', ')}]`;
  const members = Object.entries(value).filter(([, member]) => member !== undefined);
  const texts = members.sort(compareKeys).map(([key, member]) => `${JSON.stringify(key)}: ${jsonbText(member)}`);
  return `{${texts.join(', ')}}`;
}

/** jsonb stores shorter keys first. */
const compareKeys = ([a]: [string, unknown], [b]: [string, unknown]): number => a.length - b.length || (a < b ? -1 : 1);

const asIs = (value: string): string => value;

/** The types that the migrations use, and types that an operator can alter a column to without harm. */
const TEXTS: ReadonlyMap<string, TextOf> = new Map<string, unknown>([
  ['text', asIs],
  ['character varying', asIs],
  ['boolean', (value: boolean) => (value ? 't' : 'f')],
  ['integer', String],
  ['bigint', String],
  ['numeric', String],
  ['timestamp with time zone', timeText],
  ['text[]', arrayText],
  ['jsonb', jsonbText],
]) as ReadonlyMap<string, TextOf>;
