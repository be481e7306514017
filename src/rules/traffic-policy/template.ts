import { isJsonObject } from '../../kernel/json-object.js';
import type { Expression, Expressions } from './expression.js';
import { UnreadablePolicy } from './unreadable-policy.js';

/** A value of JSON whose texts may have expressions, as in `client ${conn.client_ip}`. */
export interface Template {
  /** To fill it takes no more steps. */
  readonly steps: number;
  /** `evaluate` gives the value of an expression; undefined stands for no text. */
  readonly fill: (evaluate: (expression: Expression) => unknown) => unknown;
  /** It has no expression. */
  readonly isFixed: boolean;
}

/** The most characters of a name in a place. */
const MAX_NAME = 48;
/** How deep metadata may be nested. */
export const MAX_DEPTH = 8;

/** Reads a value of JSON at a place. Throws UnreadablePolicy. */
export function readTemplate(value: unknown, place: string, expressions: Expressions, depth = 0): Template {
  if (depth > MAX_DEPTH) throw new UnreadablePolicy(place, `is nested more than ${MAX_DEPTH} deep.`);
  if (typeof value === 'string') return textTemplate(value, place, expressions);
  const read = (item: unknown, at: string): Template => readTemplate(item, `${place}${at}`, expressions, depth + 1);
  if (Array.isArray(value)) {
    const items = value.map((item, n) => read(item, `[${n}]`));
    return templateOf(items, (evaluate) => items.map(({ fill }) => fill(evaluate)));
  }
  if (!isJsonObject(value)) return { steps: 1, fill: () => value, isFixed: true };
  const fields = Object.entries(value).map(
    ([name, item]) => [plainText(name), read(item, `.${plainText(name.slice(0, MAX_NAME))}`)] as const,
  );
  return templateOf(
    fields.map(([, field]) => field),
    (evaluate) => Object.fromEntries(fields.map(([name, { fill }]) => [name, fill(evaluate)])),
  );
}

/** Keeps the value alone of what has no expression: a function for each number takes 100 times its text. */
function templateOf(parts: readonly Pick<Template, 'steps' | 'isFixed'>[], fill: Template['fill']): Template {
  const steps = parts.reduce((sum, part) => sum + part.steps, 1 + parts.length);
  if (parts.some(({ isFixed }) => !isFixed)) return { steps, fill, isFixed: false };
  const value = fill(() => undefined);
  return { steps, fill: () => value, isFixed: true };
}

function textTemplate(text: string, place: string, expressions: Expressions): Template {
  const parts = partsOf(text, place).map((part) =>
    part.isExpression
      ? { ...expressions.shown(part.text, `${place} \${ }`), isFixed: false }
      : { steps: 1 + part.text.length / 32, text: part.text, isFixed: true },
  );
  return templateOf(parts, (evaluate) =>
    plainText(parts.map((part) => ('text' in part ? part.text : (evaluate(part) ?? ''))).join('')),
  );
}

/** A text that every database and every log can hold. */
export const plainText = (text: string): string => text.toWellFormed().replaceAll('\0', '\uFFFD');

interface Part {
  readonly text: string;
  readonly isExpression: boolean;
}

function partsOf(text: string, place: string): Part[] {
  const parts: Part[] = [];
  let at = 0;
  for (let start = text.indexOf('${'); start >= 0; start = text.indexOf('${', at)) {
    const end = endOfExpression(text, start + 2);
    if (end === undefined) throw new UnreadablePolicy(place, `has \${ without }.`);
    parts.push({ text: text.slice(at, start), isExpression: false });
    parts.push({ text: text.slice(start + 2, end), isExpression: true });
    at = end + 1;
  }
  return [...parts, { text: text.slice(at), isExpression: false }];
}

/** The brace that closes an expression: not one of a map, and not one in a text. */
function endOfExpression(text: string, start: number): number | undefined {
  let depth = 0;
  let quote: string | undefined;
  for (let at = start; at < text.length; at += 1) {
    const sign = text[at];
    if (sign === '\\') at += 1;
    else if (quote !== undefined) quote = sign === quote ? undefined : quote;
    else if (sign === "'" || sign === '"') quote = sign;
    else if (sign === '{') depth += 1;
    else if (sign === '}' && depth === 0) return at;
    else if (sign === '}') depth -= 1;
  }
  return undefined;
}
