import { parseDatabaseUrl } from '../../database/index.js';
import { readKeyFile } from '../../event-log/index.js';
import { messageOf } from '../../kernel/error-message.js';
import { isId } from '../../kernel/ids.js';

/** Parsers of environment variables. Each throws an Error whose message completes the sentence "NAME ...". */

export const text = (value: string): string => value;

export const integer =
  (min: number, max: number) =>
  (value: string): number => {
    const parsed = /^\d{1,9}$/.test(value) ? Number(value) : Number.NaN;
    if (!(parsed >= min && parsed <= max)) throw new Error(`must be a whole number from ${min} to ${max}`);
    return parsed;
  };

export const flag = (value: string): boolean => {
  if (['true', '1', 'yes', 'on'].includes(value.toLowerCase())) return true;
  if (['false', '0', 'no', 'off'].includes(value.toLowerCase())) return false;
  throw new Error('must be true or false');
};

export const oneOf =
  <T extends string>(values: readonly T[]) =>
  (value: string): T => {
    const found = values.find((candidate) => candidate === value);
    if (found === undefined) throw new Error(`must be one of ${values.join(', ')}`);
    return found;
  };

const url =
  (...protocols: string[]) =>
  (value: string): string => {
    const parsed = URL.canParse(value) ? new URL(value) : undefined;
    if (parsed === undefined || !protocols.includes(parsed.protocol)) {
      throw new Error(`must be a URL that starts with ${protocols.map((p) => `${p}//`).join(' or ')}`);
    }
    return value;
  };

/** Takes a value as it is, if `parse` can read it. */
const readableBy =
  (parse: (value: string) => unknown) =>
  (value: string): string => {
    parse(value);
    return value;
  };

export const databaseUrl = readableBy(parseDatabaseUrl);

export const baseUrl = (value: string): string => {
  const parsed = new URL(url('http:', 'https:')(value));
  if (parsed.username !== '' || parsed.password !== '') throw new Error('must not hold a user or a password');
  if (parsed.search !== '' || parsed.hash !== '') throw new Error('must not have a query or a fragment');
  return value.replace(/\/+$/, '');
};

/** 16 to 255 printable ASCII characters without blanks: a header can carry them, and they are hard to guess. */
export const bootstrapKey = (value: string): string => {
  if (value.length < 16) throw new Error(`is ${value.length} characters long; the minimum is 16`);
  if (value.length > 255) throw new Error(`is ${value.length} characters long; the maximum is 255`);
  if (!/^[\x21-\x7e]+$/.test(value)) throw new Error('must hold printable ASCII characters only, without blanks');
  return value;
};

/** The key that the file of this name holds. A message never quotes the content. */
export const bootstrapKeyFile = (path: string): string => {
  const key = readKeyFile(path).trim();
  if (key === '') throw new Error('names a file that is empty');
  try {
    return bootstrapKey(key);
  } catch (error) {
    throw new Error(`names a file with a bad key: it ${messageOf(error)}`);
  }
};

export const accountId = (value: string): string => {
  if (!isId(value, 'ac')) throw new Error('must be the id of an account');
  return value;
};
