import { isUtf8 } from 'node:buffer';
import { isQuotable, Problem } from '../../kernel/problem.js';

/** Deeper than any body of this API. The limit keeps every later walk over a body from exhausting the stack. */
const MAX_DEPTH = 64;
/** The largest body of use has 10,000 objects of two members. A million tiny values would keep the service busy for 0.2 s. */
const MAX_COMMAS = 50_000;

/**
 * Parses a request body. Refuses text that JSON.parse accepts but the service could not return as it was sent: bytes
 * that are not UTF-8, duplicate names in an object, U+0000 (PostgreSQL text cannot hold it) and lone surrogates.
 * Messages never quote the body, since a user may have pasted a private key into it.
 */
export function parseJsonBody(bytes: Buffer): unknown {
  if (!isUtf8(bytes)) throw new Problem('body_malformed', 'The body is not valid UTF-8.');
  const text = bytes.toString('utf8');
  const members = countMembers(text);
  const value = parse(text);
  if (inspect(value, []) !== members) {
    throw new Problem('body_malformed', `The body names ${repeatedField(text)} twice; give each field once.`);
  }
  return value;
}

function parse(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch (error) {
    // V8's own message quotes the text around the error.
    const position = /at position (\d+)/.exec(String(error))?.[1];
    const where = position === undefined ? '' : ` (at character ${Number(position) + 1})`;
    const strange = strangeCharacter(text);
    const what = strange === undefined ? where : `: it has ${strange} outside of its strings`;
    throw new Problem('body_malformed', `The body is not valid JSON${what}.`);
  }
}

/** Characters that editors and word processors put into JSON, and which look like others or like nothing. */
const STRANGE: readonly (readonly [RegExp, string])[] = [
  [/\ufeff/, 'a byte order mark'],
  [/[\u200b-\u200f\u2060]/, 'a character of no width'],
  [/\u00a0/, 'a no-break space'],
  [/\u3000/, 'a full-width blank'],
  [/[\u2000-\u200a\u202f\u205f]/, 'a blank of typography'],
  [/[\u2018-\u201f\u00ab\u00bb]/, 'a quotation mark of typography'],
  [/[\u2010-\u2015]/, 'a dash of typography'],
  [/[\uff0c\uff1a\uff3b\uff3d\uff5b\uff5d\u3001]/, 'a full-width sign'],
];

/** The first of them outside of the strings of a text, with its place. */
function strangeCharacter(text: string): string | undefined {
  for (let at = 0; at < text.length; at += 1) {
    if (text.charCodeAt(at) === QUOTE) at = endOfString(text, at);
    else if (text.charCodeAt(at) > 0x7f) {
      const [, name] = STRANGE.find(([form]) => form.test(text.charAt(at))) ?? [];
      if (name !== undefined) return `${name} (at character ${at + 1})`;
    }
  }
  return undefined;
}

/**
 * Counts the members of all objects in the text, by its colons outside strings. Refuses deep nesting, and too many
 * values.
 */
function countMembers(text: string): number {
  let members = 0;
  let commas = 0;
  let depth = 0;
  for (let at = 0; at < text.length; at += 1) {
    const character = text.charCodeAt(at);
    if (character === QUOTE) at = endOfString(text, at);
    else if (character === COLON) members += 1;
    else if (character === COMMA) {
      commas += 1;
      if (commas > MAX_COMMAS) throw new Problem('body_malformed', `The body has more than ${MAX_COMMAS} commas.`);
    } else if (character === OPEN_BRACE || character === OPEN_BRACKET) {
      depth += 1;
      if (depth > MAX_DEPTH) {
        throw new Problem('body_malformed', `The body is nested more than ${MAX_DEPTH} levels deep.`);
      }
    } else if (character === CLOSE_BRACE || character === CLOSE_BRACKET) depth -= 1;
  }
  return members;
}

/** The first name that an object of the text has twice. Only a refused body is searched. */
function repeatedField(text: string): string {
  const objects: Set<string>[] = [];
  let name = '';
  for (let at = 0; at < text.length; at += 1) {
    const character = text.charCodeAt(at);
    if (character === QUOTE) {
      const end = endOfString(text, at);
      name = safeName(JSON.parse(text.slice(at, end + 1)));
      at = end;
    } else if (character === COLON) {
      if (objects.at(-1)?.has(name) === true && name !== A_FIELD) return `the field ${name}`;
      objects.at(-1)?.add(name);
    } else if (character === OPEN_BRACE || character === OPEN_BRACKET) objects.push(new Set());
    else if (character === CLOSE_BRACE || character === CLOSE_BRACKET) objects.pop();
  }
  return A_FIELD;
}

const QUOTE = 0x22;
const COMMA = 0x2c;
const COLON = 0x3a;
const BACKSLASH = 0x5c;
const OPEN_BRACKET = 0x5b;
const CLOSE_BRACKET = 0x5d;
const OPEN_BRACE = 0x7b;
const CLOSE_BRACE = 0x7d;

function endOfString(text: string, start: number): number {
  let at = start + 1;
  while (at < text.length && text.charCodeAt(at) !== QUOTE) at += text.charCodeAt(at) === BACKSLASH ? 2 : 1;
  return at;
}

/** Where a value is: names of fields and indexes of lists. */
type Path = (string | number)[];

/** Counts the members of all objects in the value. Refuses strings that cannot be stored as they are. */
function inspect(value: unknown, path: Path): number {
  if (typeof value === 'string') return refuseUnstorable(value, path, textOf);
  if (typeof value !== 'object' || value === null) return 0;
  let members = 0;
  for (const [name, item] of Array.isArray(value) ? value.entries() : Object.entries(value)) {
    if (typeof name === 'string') members += 1 + refuseUnstorable(name, path, () => 'a field name');
    path.push(name);
    members += inspect(item, path);
    path.pop();
  }
  return members;
}

const textOf = (path: Path): string =>
  path.map((part, n) => (typeof part === 'number' ? `[${part}]` : `${n === 0 ? '' : '.'}${safeName(part)}`)).join('') ||
  'the body';

/** Hides a name that cannot be a field of this API: it may be anything, even a misplaced private key. */
const A_FIELD = 'a field';
const safeName = (name: string): string => (/^[a-z_]+$/.test(name) && isQuotable(name) ? name : A_FIELD);

function refuseUnstorable(text: string, path: Path, fieldOf: (path: Path) => string): 0 {
  const fault = text.includes('\u0000')
    ? 'the character U+0000; leave it out'
    : 'half of a surrogate pair; send whole characters';
  if (text.includes('\u0000') || !text.isWellFormed())
    throw new Problem('body_malformed', `${fieldOf(path)} holds ${fault}.`, itemOf(path));
  return 0;
}

/** The item of a list of the body, so that the sender of many can leave it out. */
const itemOf = (path: Path): { readonly item?: string } =>
  typeof path[1] === 'number' ? { item: textOf(path.slice(0, 2)) } : {};
