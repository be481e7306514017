import { isKeyType } from './public-key-type.js';

/** The most fields of a private key of PuTTY or dropbear. */
const MAX_FIELDS = 7;
/** The shortest first field: `ssh-rsa`. */
const MIN_FIRST_BYTES = 7;
/** Shorter than the secret number of any key. */
const MIN_SECRET_BYTES = 20;
/** Each length is less than 16 KiB, so it begins with 18 zero bits. */
const LENGTH_IN_BASE64 = 'AAA';

/**
 * Whether a text beside a key has the base64 of a private key as PuTTY and dropbear write it, also if blanks cut it. Its
 * only structure is that length-prefixed fields begin with a word and end with one.
 */
export function holdsPrivateNumbers(text: string): boolean {
  const words = text.match(/[\w+/-]+/g) ?? [];
  const base64 = words.join('');
  const readings = [0, 1, 2, 3].map((first) => Buffer.from(base64.slice(first), 'base64'));
  let end = 0;
  const bounds = new Set(words.map((word) => (end += word.length)).concat(0));
  return [...bounds].some((start) => {
    const reading = readings[start % 4];
    if (reading === undefined || !base64.startsWith(LENGTH_IN_BASE64, start)) return false;
    const endsWord = (bytes: number): boolean => bounds.has(start + Math.ceil((bytes * 4) / 3));
    return beginsWithSecret(reading.subarray(Math.floor(start / 4) * 3), endsWord);
  });
}

function beginsWithSecret(bytes: Buffer, endsWord: (bytes: number) => boolean): boolean {
  const fields: Buffer[] = [];
  for (let at = 0; fields.length < MAX_FIELDS && at + 4 <= bytes.length; ) {
    const length = bytes.readUInt32BE(at);
    const next = at + 4 + length;
    if (next > bytes.length || (at === 0 && length < MIN_FIRST_BYTES)) return false;
    fields.push(bytes.subarray(at + 4, next));
    if (endsWord(next) && areSecret(fields)) return true;
    at = next;
  }
  return false;
}

/**
 * PuTTY has the secret numbers alone. dropbear has them after the public ones, which are two at most, and for Ed25519 in
 * one field with them. A security key has no secret, and another type begins another key.
 */
function areSecret([first = Buffer.of(), ...others]: readonly Buffer[]): boolean {
  const type = first.toString('latin1');
  if (type === 'ssh-ed25519') return others.some(({ length }) => length === 64);
  if (isKeyType(type)) {
    return !type.startsWith('sk-') && others.length > 2 && !others.some((field) => isKeyType(field.toString('latin1')));
  }
  return [first, ...others].every(({ length }) => length >= MIN_SECRET_BYTES);
}
