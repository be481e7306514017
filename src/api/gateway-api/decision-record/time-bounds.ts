import { firstIdOf, type IdPrefix } from '../../../kernel/ids.js';
import { EXAMPLE_TIME, queryParameter } from '../../http/openapi/parts.js';
import { lastOf } from '../../http/pages.js';
import { parseTime } from '../../resources/expiry/expiry.js';

export const timeParameter = (name: string, description: string) =>
  queryParameter(name, `${description} An RFC 3339 time; its second counts.`, {
    type: 'string',
    format: 'date-time',
    examples: [EXAMPLE_TIME],
  });

/** A plus sign of an offset comes as a blank if it was not encoded. */
export function readTime(name: string, value: unknown): string | undefined {
  const text = lastOf(value);
  return text === undefined ? undefined : parseTime(name, text.replace(' ', '+')).toISOString();
}

/** Bounds of ids, which have the time in them: from `after` on, and before `before`. */
export const boundsOf = (prefix: IdPrefix, after: string | undefined, before: string | undefined) => ({
  from: after === undefined ? '' : firstIdOf(prefix, new Date(after)),
  before: before === undefined ? `${prefix}_~` : firstIdOf(prefix, new Date(before)),
});
