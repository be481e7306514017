import { hash } from 'node:crypto';
import { isId } from '../../kernel/ids.js';
import { isJsonObject } from '../../kernel/json-object.js';

/**
 * An event in an exported log. `data` and `metadata` are texts and not objects, to keep the exact bytes of the leaf
 * hash. Times are UTC to the microsecond, and the hash is hex.
 */
export interface LoggedEvent {
  readonly account_id: string;
  readonly position: number;
  readonly stream_id: string;
  readonly stream_version: number;
  readonly event_id: string;
  readonly type: string;
  readonly data: string;
  readonly metadata: string;
  readonly occurred_at: string;
  readonly recorded_at: string;
  readonly leaf_hash: string;
}

/** The line of an event of which `GET /log/export` gives the hash alone, since a reader could guess a weak API key. */
export interface HiddenEvent extends Pick<LoggedEvent, 'position' | 'leaf_hash'> {
  readonly hidden: true;
}

export const isHidden = (event: LoggedEvent | HiddenEvent): event is HiddenEvent => 'hidden' in event;

const TIME_FORMAT = `'YYYY-MM-DD"T"HH24:MI:SS.US"Z"'`;

/**
 * SQL for the text of a time in a logged event. An infinite time becomes a text without this format, which is then
 * refused.
 */
export const timeText = (column: string): string =>
  `coalesce(to_char(${column} at time zone 'UTC', ${TIME_FORMAT}), ${column}::text)`;

/**
 * The SHA-256 of an event, in hex, like event_leaf_hash in PostgreSQL. Texts are netstrings (length in bytes, colon,
 * text, comma) and a comma ends each other field, so two different events never have the same encoding. The first byte,
 * 0, marks a leaf (RFC 6962), and times are microseconds since 1970.
 */
export function leafHash(event: LoggedEvent): string {
  const { account_id, position, stream_id, stream_version, event_id, type, data, metadata } = event;
  const identity = `\0${netstring(account_id)}${position},${netstring(stream_id)}${stream_version},${event_id},`;
  const content = netstring(type) + netstring(data) + netstring(metadata);
  const times = `${microseconds(event.occurred_at)},${microseconds(event.recorded_at)},`;
  return hash('sha256', identity + content + times);
}

const netstring = (text: string): string => `${Buffer.byteLength(text)}:${text},`;

/** Seconds since 1970, followed by the six digits of the fraction. No event is older than 1970. */
const microseconds = (time: string): string =>
  `${Date.parse(`${time.slice(0, SECOND)}Z`) / 1000}${time.slice(SECOND + 1, -1)}`;

const UUID = /^[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}$/;
const TIME = /^\d{4}-(?:0[1-9]|1[0-2])-(?:0[1-9]|[12]\d|3[01])T(?:[01]\d|2[0-3]):[0-5]\d:[0-5]\d\.\d{6}Z$/;
const SECOND = '2026-01-02T03:04:05'.length;

/**
 * Names the first field with a value that the service would not write. A right hash is not enough, because it can cover
 * any value, also one that the API could not show or a later export would write in another way.
 */
export function formatFault(event: LoggedEvent): string | undefined {
  if (!isId(event.account_id, 'ac')) return 'account_id is not the id of an account';
  if (!isId(event.stream_id)) return 'stream_id is not an id';
  if (!UUID.test(event.event_id)) return 'event_id is not a UUID';
  if (!isTime(event.occurred_at)) return 'occurred_at is not a time as export writes it';
  if (!isTime(event.recorded_at)) return 'recorded_at is not a time as export writes it';
  return jsonFault(event);
}

/**
 * Refuses the 30th of February, as PostgreSQL does, and the time 24:00, which PostgreSQL would write in another way.
 */
const isTime = (text: string): boolean =>
  TIME.test(text) && (text.slice(8, 10) <= '28' || new Date(text).toISOString().slice(0, 10) === text.slice(0, 10));

function jsonFault({ data, metadata }: LoggedEvent): string | undefined {
  if (compactObject(data) === undefined) return 'data is not a JSON object as the service writes it';
  if (typeof compactObject(metadata)?.actor !== 'string') return 'metadata is not a JSON object that names an actor';
  return undefined;
}

/**
 * Parses a JSON object in the exact form of JSON.stringify: one line, without blanks, each name once. Undefined for any
 * other text.
 */
function compactObject(text: string): Readonly<Record<string, unknown>> | undefined {
  try {
    const value: unknown = JSON.parse(text);
    return isJsonObject(value) && JSON.stringify(value) === text ? value : undefined;
  } catch {
    // It is not JSON, or it is nested too deeply for JSON.stringify.
    return undefined;
  }
}
