import { type IdPrefix, isId } from '../ids.js';
import { Problem } from '../problem.js';

export const MAX_PAGE_ITEMS = 100;

export interface PageRequest {
  /** At most this many items, 1 to MAX_PAGE_ITEMS. */
  readonly limit: number;
  /** Only items older than this id; null for the newest ones. */
  readonly beforeId: string | null;
}

/**
 * Reads `limit` and `before_id` (or `beforeId`, as the TypeScript client sends). An empty value counts as absent.
 * A limit above the maximum is taken as the maximum, as the public API does.
 */
export function readPageRequest(query: Readonly<Record<string, unknown>>, prefix: IdPrefix): PageRequest {
  const limit = given(query.limit);
  const beforeId = given(query.before_id) ?? given(query.beforeId) ?? null;
  if (beforeId !== null && !isId(beforeId, prefix)) {
    throw new Problem('cursor_malformed', `before_id '${shorten(beforeId)}' is not the id of an item of this list.`);
  }
  return { limit: limit === undefined ? MAX_PAGE_ITEMS : readLimit(limit), beforeId };
}

function readLimit(text: string): number {
  if (!/^[+-]?\d+$/.test(text)) throw new Problem('limit_not_a_number', `limit '${shorten(text)}' is not a number.`);
  const limit = Number(text);
  if (limit < 1) throw new Problem('limit_out_of_range', `limit is ${shorten(text)}; the least is 1.`);
  return Math.min(limit, MAX_PAGE_ITEMS);
}

/** A parameter given several times counts by its last value. */
function given(value: unknown): string | undefined {
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
): Record<string, Item[] | string | null> {
  const entities = found.slice(0, limit);
  const last = entities.at(-1);
  const hasMore = found.length > limit && last !== undefined;
  return {
    [plural]: entities.map(toItem),
    uri,
    next_page_uri: hasMore ? `${uri}?before_id=${last.id}&limit=${limit}` : null,
  };
}
