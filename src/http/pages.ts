import { type IdPrefix, isId } from '../ids.js';
import { Problem } from '../problem.js';
import type { PageRequest } from '../resources/entity-queries.js';

export const MAX_PAGE_ITEMS = 100;

export const MAX_PAGE_EVENTS = 1_000;
/** A page of events ends early with the event that reaches this many characters of data: one may have 256 KiB. */
export const MAX_EVENTS_CHARACTERS = 1024 * 1024;

/**
 * Reads `limit` and `before_id` (or `beforeId`, as the TypeScript client sends). An empty value counts as absent.
 * A limit above the maximum is taken as the maximum, as the public API does.
 */
export function readPageRequest(query: Readonly<Record<string, unknown>>, prefix: IdPrefix): PageRequest {
  const limit = lastOf(query.limit);
  const beforeId = lastOf(query.before_id) ?? lastOf(query.beforeId) ?? null;
  if (beforeId !== null && !isId(beforeId, prefix)) {
    throw new Problem('cursor_malformed', `before_id '${shorten(beforeId)}' is not the id of an item of this list.`);
  }
  return { limit: limit === undefined ? MAX_PAGE_ITEMS : readLimit(limit, MAX_PAGE_ITEMS), beforeId };
}

/** Reads `limit` of a page of events: 100 when absent, at most MAX_PAGE_EVENTS. */
export const readEventLimit = (query: Readonly<Record<string, unknown>>): number =>
  readLimit(lastOf(query.limit) ?? String(MAX_PAGE_ITEMS), MAX_PAGE_EVENTS);

/** Reads `after`: the log position that a page of events begins behind; undefined when absent. */
export function readAfter(query: Readonly<Record<string, unknown>>): number | undefined {
  const after = lastOf(query.after);
  if (after === undefined || /^\d{1,15}$/.test(after)) return after === undefined ? undefined : Number(after);
  throw new Problem('cursor_malformed', `after '${shorten(after)}' is not a log position.`);
}

function readLimit(text: string, most: number): number {
  if (!/^[+-]?\d+$/.test(text)) throw new Problem('limit_not_a_number', `limit '${shorten(text)}' is not a number.`);
  const limit = Number(text);
  if (limit < 1) throw new Problem('limit_out_of_range', `limit is ${shorten(text)}; the least is 1.`);
  return Math.min(limit, most);
}

/** A parameter given several times counts by its last value, an empty one as absent. */
export function lastOf(value: unknown): string | undefined {
  const last: unknown = Array.isArray(value) ? value.at(-1) : value;
  return typeof last === 'string' && last !== '' ? last : undefined;
}

const shorten = (text: string): string => (text.length > 64 ? `${text.slice(0, 64)}...` : text);

/** The envelope of every list: the items under the resource's plural, and where the next page is. */
export function pageOf<Entity extends { readonly id: string }, Item>(
  plural: string,
  uri: string,
  { limit }: PageRequest,
  found: readonly Entity[],
  toItem: (entity: Entity) => Item,
  /** What the next page is asked with beside its place. */
  further: Readonly<Record<string, string | number>> = {},
): Record<string, Item[] | string | null> {
  const entities = found.slice(0, limit);
  const last = entities.at(-1);
  const hasMore = found.length > limit && last !== undefined;
  return {
    [plural]: entities.map(toItem),
    uri,
    next_page_uri: hasMore ? uriWith(uri, { before_id: last.id, limit, ...further }) : null,
  };
}

/** A uri with a query; what is undefined is left out. */
export function uriWith(uri: string, query: Readonly<Record<string, string | number | undefined>>): string {
  const given = Object.entries(query).filter(([, value]) => value !== undefined);
  return `${uri}?${given.map(([name, value]) => `${name}=${encodeURIComponent(String(value))}`).join('&')}`;
}
