import { parseDatabaseUrl } from '../../database/index.js';
import { readKeyFile } from '../../event-log/index.js';
import { messageOf } from '../../kernel/error-message.js';

/** Parsers of environment variables. Each throws an Error whose message completes the sentence "NAME ...". */

/** Takes a value as it is, if `parse` can read it. */
const readableBy =
  (parse: (value: string) => unknown) =>
  (value: string): string => {
    parse(value);
    return value;
  };

export const databaseUrl = readableBy(parseDatabaseUrl);

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
