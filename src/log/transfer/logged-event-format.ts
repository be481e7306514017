import { isId } from '../../ids.js';
import { isJsonObject } from '../../json-object.js';
import type { LoggedEvent } from './log-file.js';

const UUID = /^[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}$/;
const TIME = /^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{6}Z$/;
const HASH = /^[0-9a-f]{64}$/;
const MILLISECONDS = '2026-01-02T03:04:05.678'.length;

/**
 * Names the first field with a value that the service would not write. A valid hash does not suffice, as it covers any
 * value: an import must refuse values that the API cannot show, or that a later export would not reproduce.
 */
export function formatFault(event: LoggedEvent): string | undefined {
  if (!isId(event.account_id, 'ac')) return 'account_id is not the id of an account';
  if (!isId(event.stream_id)) return 'stream_id is not an id';
  if (!UUID.test(event.event_id)) return 'event_id is not a UUID';
  if (!isTime(event.occurred_at)) return 'occurred_at is not a time as export writes it';
  if (!isTime(event.recorded_at)) return 'recorded_at is not a time as export writes it';
  if (!HASH.test(event.leaf_hash)) return 'leaf_hash is not a SHA-256 in hex';
  if (parseCompactObject(event.data) === undefined) return 'data is not a JSON object as the service writes it';
  if (typeof parseCompactObject(event.metadata)?.actor !== 'string')
    return 'metadata is not a JSON object that names an actor';
  return undefined;
}

/** Refuses the 30th of February, as PostgreSQL does, and 24:00, which PostgreSQL would write in another way. */
function isTime(text: string): boolean {
  const time = TIME.test(text) ? new Date(text) : new Date(Number.NaN);
  return !Number.isNaN(time.getTime()) && time.toISOString().slice(0, MILLISECONDS) === text.slice(0, MILLISECONDS);
}

/** Undefined unless `text` is exactly what JSON.stringify makes: one line, without blanks, each name once. */
function parseCompactObject(text: string): Readonly<Record<string, unknown>> | undefined {
  try {
    const value: unknown = JSON.parse(text);
    return isJsonObject(value) && JSON.stringify(value) === text ? value : undefined;
  } catch {
    return undefined;
  }
}
