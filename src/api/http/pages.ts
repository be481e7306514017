import { type IdPrefix, isId } from '../../kernel/ids.js';
import { Problem, quoted } from '../../kernel/problem.js';

export const MAX_PAGE_ITEMS = 100;

export const MAX_PAGE_EVENTS = 1_000;
/** A page of events ends early with the event that reaches this many characters of data: one event may hold 256 KiB. */
export const MAX_EVENTS_CHARACTERS = 1024 * 1024;

/** A page of a list, newest first. */
export interface PageRequest {
  readonly limit: number;
  /** Only items older than this id; null: the newest items. */
  readonly beforeId: string | null;
}

/**
 * Reads `limit` and `before_id` (or `beforeId`, the TypeScript client's spelling). Clients of the public API send them empty
 * for the default. A limit above the maximum counts as the maximum, like in the public API.
 */
export function readPageRequest(query: Readonly<Record<string, unknown>>, prefix: IdPrefix): PageRequest {
  const limit = lastOf(query.limit);
  const beforeId = lastOf(query.before_id) ?? lastOf(query.beforeId) ?? null;
  if (beforeId !== null && !isId(beforeId, prefix)) {
    throw new Problem('cursor_malformed', `before_id ${quoted(beforeId)} is not the id of an item of this list.`);
  }
  return { limit: limit === undefined ? MAX_PAGE_ITEMS : readLimit(limit, MAX_PAGE_ITEMS), beforeId };
}

/** Reads `limit` of a page of events: 100 by default, at most MAX_PAGE_EVENTS. */
export const readEventLimit = (query: Readonly<Record<string, unknown>>): number =>
  readLimit(lastOf(query.limit) ?? String(MAX_PAGE_ITEMS), MAX_PAGE_EVENTS);

/** Reads `after`: the log position before the first event of the page; undefined when absent. */
export function readAfter(query: Readonly<Record<string, unknown>>): number | undefined {
  const after = lastOf(query.after);
  if (after === undefined) return undefined;
  if (/^\d{1,15}$/.test(after)) return Number(after);
  throw new Problem('cursor_malformed', `after ${quoted(after)} is not a log position.`);
}

function readLimit(text: string, max: number): number {
  if (!/^[+-]?\d+$/.test(text)) throw new Problem('limit_not_a_number', `limit ${quoted(text)} is not a number.`);
  const limit = Number(text);
  if (limit < 1) throw new Problem('limit_out_of_range', `limit is ${limit}; the minimum is 1.`);
  return Math.min(limit, max);
}

/** The last value of a parameter or a header. An empty value counts as absent; hooks/check-query.ts refuses most of them. */
export function lastOf(value: unknown): string | undefined {
  const last: unknown = Array.isArray(value) ? value.at(-1) : value;
  return typeof last === 'string' && last !== '' ? last : undefined;
}

/** The body of every list: the items under `listKey`, and the URI of the next page. */
export function pageOf<Entity extends { readonly id: string }, Item>(
  listKey: string,
  uri: string,
  { limit }: PageRequest,
  found: readonly Entity[],
  toItem: (entity: Entity) => Item,
  /** Further query parameters of the next page's URI. */
  further: Readonly<Record<string, string | number | undefined>> = {},
  /** The page ends before the item with which it has more bytes, but not before the first one. */
  maxBytes?: number,
): Record<string, Item[] | string | null> {
  const items: Item[] = [];
  let bytes = 0;
  for (const entity of found.slice(0, limit)) {
    const item = toItem(entity);
    if (maxBytes !== undefined) bytes += Buffer.byteLength(JSON.stringify(item));
    if (items.length > 0 && bytes > (maxBytes ?? bytes)) break;
    items.push(item);
  }
  const last = found[items.length - 1];
  const hasMore = found.length > items.length && last !== undefined;
  return {
    [listKey]: items,
    uri,
    next_page_uri: hasMore ? uriWith(uri, { before_id: last.id, limit, ...further }) : null,
  };
}

/** A URI with a query; undefined parameters are left out. */
export function uriWith(uri: string, query: Readonly<Record<string, string | number | undefined>>): string {
  const present = Object.entries(query).filter(([, value]) => value !== undefined);
  return `${uri}?${present.map(([name, value]) => `${name}=${encodeURIComponent(String(value))}`).join('&')}`;
}
