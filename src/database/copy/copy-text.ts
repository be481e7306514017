/** COPY's text format: a tab ends a field, a line feed a row, and escapes keep both out of the values. */
const SPECIAL = /[\\\b\f\n\r\t\v]/;
const LETTERS: Readonly<Record<string, string>> = { '\b': 'b', '\f': 'f', '\n': 'n', '\r': 'r', '\t': 't', '\v': 'v' };

/** All characters that PostgreSQL escapes itself, for the proof. */
export const escaped = (text: string): string =>
  SPECIAL.test(text) ? text.replace(/[\\\b\f\n\r\t\v]/g, (character) => `\\${LETTERS[character] ?? character}`) : text;

/** The same for compact JSON, which has no control characters: to look for a backslash takes a tenth of the time. */
export const escapedJson = (json: string): string => (json.includes('\\') ? json.replaceAll('\\', '\\\\') : json);

const CHARACTERS = new Map(Object.entries(LETTERS).map(([character, letter]) => [letter, character]));

/** Most texts have no escape. */
export const unescaped = (text: string): string =>
  text.includes('\\') ? text.replace(/\\(.)/g, (_, letter: string) => CHARACTERS.get(letter) ?? letter) : text;
