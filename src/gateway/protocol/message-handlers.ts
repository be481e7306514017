import { Violation } from './violation.js';

/** The handlers of messages, by their names in the library. An error that they throw ends the connection. */
export type MessageHandlers = Readonly<Record<string, (...fields: never[]) => void>>;

/** Only RSA keys have a hash, and only some types of channels have data. */
const OPTIONAL: readonly string[] = ['hashAlgo', 'data'];

/**
 * Throws Violation if a field could not be read. The library itself skips a text that claims to be longer than its
 * message, and goes on with the next field.
 */
export function requireFields(message: string, fields: readonly unknown[]): void {
  if (fields.some(lacksPart)) throw new Violation('protocol', `sent ${message} without one of its fields`);
}

function lacksPart(field: unknown): boolean {
  if (typeof field !== 'object' || field === null || Buffer.isBuffer(field)) return field === undefined;
  return Object.entries(field).some(([name, value]) => value === undefined && !OPTIONAL.includes(name));
}
