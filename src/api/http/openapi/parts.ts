import type { IdPrefix } from '../../../kernel/ids.js';
import type { Providers, QueryParameter, Swagger } from '../documentation.js';
import { MAX_PAGE_EVENTS, MAX_PAGE_ITEMS } from '../pages.js';

/** The fields and parameters that resources and routes share. `decorators.ts` puts them together. */

export interface ParameterOf {
  (swagger: Swagger, prefix: IdPrefix | undefined, providers: Providers): MethodDecorator;
  /** If it is a query parameter. */
  readonly query?: QueryParameter;
}

/** The KSUID of every id in an example; a real one. */
export const EXAMPLE_KSUID = '3MSH1YH1pfqRL0tXy3dC8OFwmhq';
export const EXAMPLE_BASE_URL = 'https://tunnels.example.com';
export const EXAMPLE_TIME = '2026-11-21T11:45:07.478Z';

export const idPattern = (prefix: IdPrefix): string => `^${prefix}_[0-9A-Za-z]{27}$`;

/** Fields that every resource has. */
export const idField = (prefix: IdPrefix) => ({
  description: 'Id. Ids sort by time of creation.',
  pattern: idPattern(prefix),
  example: `${prefix}_${EXAMPLE_KSUID}`,
});

export const uriField = (path: string, prefix: IdPrefix) => ({
  description: 'Canonical URI of the resource.',
  format: 'uri' as const,
  example: `${EXAMPLE_BASE_URL}/${path}/${prefix}_${EXAMPLE_KSUID}`,
});

export const CREATED_AT = {
  description: 'Time of creation, in UTC.',
  format: 'date-time' as const,
  example: EXAMPLE_TIME,
};

/** Fields that every list has. */
export const LIST = { description: 'At most `limit` items, newest first.' };
export const URI_OF_LIST = {
  description: 'URI of the list, without a query.',
  type: 'string' as const,
  format: 'uri' as const,
};
export const NEXT_PAGE_URI = {
  description: 'URI of the next page; null on the last page.',
  type: 'string' as const,
  format: 'uri' as const,
  nullable: true,
  example: null,
};

export const ID: ParameterOf = ({ ApiParam }, prefix = 'op') => {
  const { pattern, example } = idField(prefix);
  // The schema demands no pattern, since any other text answers 404 and not 400.
  return ApiParam({
    name: 'id',
    description: `Id of the resource, of the form \`${pattern}\`. Any other text answers 404.`,
    schema: { type: 'string', examples: [example] },
  });
};

interface QueryParameterOptions {
  readonly required?: boolean;
  readonly alias?: string;
  readonly mayBeEmpty?: boolean;
}

type SchemaOf = (prefix: IdPrefix, providers: Providers) => object;

/** A query parameter. Its schema is a function if it depends on the controller or on the wiring. */
export const queryParameter = (
  name: string,
  description: string,
  schema: object | SchemaOf,
  { required = false, alias, mayBeEmpty = false }: QueryParameterOptions = {},
): ParameterOf => {
  const parameterOf: ParameterOf = ({ ApiQuery }, prefix = 'op', providers) => {
    const made = typeof schema === 'function' ? (schema as SchemaOf)(prefix, providers) : schema;
    return ApiQuery({ name, required, description, schema: made });
  };
  return Object.assign(parameterOf, { query: { spellings: alias === undefined ? [name] : [name, alias], mayBeEmpty } });
};

/** An optional header. */
const header =
  (name: string, description: string, schema: object = {}): ParameterOf =>
  ({ ApiHeader }) =>
    ApiHeader({ name, required: false, description, schema: { type: 'string', ...schema } });

/** Clients of the public API send them empty to ask for the default. */
const OF_PAGES = { mayBeEmpty: true };

export const LIMIT = queryParameter(
  'limit',
  `Maximum number of items. A value above ${MAX_PAGE_ITEMS} counts as ${MAX_PAGE_ITEMS}.`,
  { type: 'integer', minimum: 1, default: MAX_PAGE_ITEMS },
  OF_PAGES,
);

export const BEFORE_ID = queryParameter(
  'before_id',
  'Only items older than the one with this id. `beforeId` is an alias.',
  (prefix) => ({ type: 'string', pattern: `${idPattern(prefix)}|^$`, examples: [`${prefix}_${EXAMPLE_KSUID}`] }),
  { alias: 'beforeId', ...OF_PAGES },
);

export const AS_OF = queryParameter(
  'as_of',
  'A log position or an RFC 3339 time: the answer is the state at that moment, which must not be in the future. ' +
    'A resource is not found before its creation and after its deletion. ' +
    'Access depends on the current permissions of the caller.',
  { type: 'string', examples: ['42', EXAMPLE_TIME] },
);

export const AFTER = queryParameter(
  'after',
  'Only events after this log position.',
  {
    type: 'integer',
    minimum: 0,
    default: 0,
  },
  OF_PAGES,
);

export const EVENT_LIMIT = queryParameter(
  'limit',
  `Maximum number of events. A value above ${MAX_PAGE_EVENTS} counts as ${MAX_PAGE_EVENTS}. ` +
    'A page may hold fewer events and still have a next page.',
  { type: 'integer', minimum: 1, default: MAX_PAGE_ITEMS },
  OF_PAGES,
);

export const LAST_EVENT_ID = header(
  'Last-Event-ID',
  'For a live feed: id of the last message that the client received. It replaces `after`.',
  { pattern: '^\\d*$' },
);

export const IDEMPOTENCY_KEY = header(
  'Idempotency-Key',
  'Makes the request safe to repeat: if the caller sends it again with the same key, the service does not ' +
    'execute it again and gives the first answer.',
  { pattern: '^[\\x20-\\x7e]{1,255}$' },
);

export const IF_MATCH = header(
  'If-Match',
  'Change only this version of the resource: one ETag, several separated by commas, or `*`.',
);

export const IF_NONE_MATCH = header(
  'If-None-Match',
  'Versions that the caller already has: one ETag, several separated by commas, or `*`.',
);
