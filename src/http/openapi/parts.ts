import { STATUS_CODES } from 'node:http';
import type { INestApplicationContext } from '@nestjs/common';
import type { ApiResponseOptions } from '@nestjs/swagger';
import type { IdPrefix } from '../../ids.js';
import { PROBLEMS, type ProblemName } from '../../problem.js';
import { MAX_PAGE_EVENTS, MAX_PAGE_ITEMS } from '../pages.js';
import { PROBLEM_EXAMPLES } from './problem-examples.js';

/** What every kind of route has in the document: headers, parameters and refusals. `openapi.ts` puts them together. */

type Swagger = typeof import('@nestjs/swagger');
/** The providers of the running application, for values that only the wiring knows. */
export type Providers = Pick<INestApplicationContext, 'get'>;
export type ParameterOf = (swagger: Swagger, prefix: IdPrefix | undefined, providers: Providers) => MethodDecorator;

/** The KSUID of an id in examples; a real one. */
export const EXAMPLE_KSUID = '3MSH1YH1pfqRL0tXy3dC8OFwmhq';
export const EXAMPLE_BASE_URL = 'https://tunnels.example.com';
export const EXAMPLE_TIME = '2026-11-21T11:45:07.478Z';

export const idPattern = (prefix: IdPrefix): string => `^${prefix}_[0-9A-Za-z]{27}$`;

/** Fields that every resource has. */
export const idField = (prefix: IdPrefix) => ({
  description: 'Made by the service; ids sort by time of creation.',
  pattern: idPattern(prefix),
  example: `${prefix}_${EXAMPLE_KSUID}`,
});

export const uriField = (path: string, prefix: IdPrefix) => ({
  description: 'Where it is.',
  format: 'uri' as const,
  example: `${EXAMPLE_BASE_URL}/${path}/${prefix}_${EXAMPLE_KSUID}`,
});

export const CREATED_AT = {
  description: 'When it was created: RFC 3339, UTC, milliseconds.',
  format: 'date-time' as const,
  example: EXAMPLE_TIME,
};

export const LIST = { description: 'At most `limit` of them, newest first.' };
export const uriOfList = (path: string) => ({
  description: 'Where the list is, without a query.',
  type: 'string' as const,
  format: 'uri' as const,
  example: `${EXAMPLE_BASE_URL}/${path}`,
});
export const NEXT_PAGE_URI = {
  description: 'Where the next page is; null on the last one.',
  type: 'string' as const,
  format: 'uri' as const,
  nullable: true,
  example: null,
};

/** Headers of answers: what each is stands once in the document, under its name. */
export const HEADER_DEFINITIONS = {
  'Ngrok-Operation-Id': {
    description: 'Of this very request; also in the details of an error and in the event that the request led to.',
    required: true,
    schema: { type: 'string', pattern: idPattern('op'), examples: [`op_${EXAMPLE_KSUID}`] },
  },
  ETag: {
    description: 'The version of the resource: send it as If-Match or If-None-Match.',
    required: true,
    schema: { type: 'string', pattern: '^"\\d+"$', examples: ['"1"'] },
  },
  'Log-Position': {
    description: "The position in the account's log that holds the change, or the newest one if nothing changed.",
    required: true,
    schema: { type: 'string', pattern: '^\\d+$', examples: ['42'] },
  },
  'Retry-After': {
    description: 'In how many seconds it is worth trying again.',
    required: true,
    schema: { type: 'string', pattern: '^\\d+$', examples: ['1'] },
  },
  'WWW-Authenticate': {
    description: 'How to authenticate.',
    required: true,
    schema: { type: 'string', const: 'Bearer' },
  },
};

const refs = (...names: (keyof typeof HEADER_DEFINITIONS)[]) =>
  Object.fromEntries(names.map((name) => [name, { $ref: `#/components/headers/${name}` }]));

export const HEADERS = refs('Ngrok-Operation-Id');
export const VERSION_HEADERS = refs('Ngrok-Operation-Id', 'ETag');
export const CHANGED_HEADERS = refs('Ngrok-Operation-Id', 'ETag', 'Log-Position');
export const DELETED_HEADERS = refs('Ngrok-Operation-Id', 'Log-Position');

export const NOT_MODIFIED: ApiResponseOptions = {
  status: 304,
  description: 'If-None-Match names the version that the resource has.',
  headers: VERSION_HEADERS,
};

export const ID: ParameterOf = ({ ApiParam }, prefix = 'op') => {
  const { pattern, example } = idField(prefix);
  // No pattern is demanded of callers: what does not fit is simply not found.
  return ApiParam({
    name: 'id',
    description: `Has the form \`${pattern}\`; anything else is not found.`,
    schema: { type: 'string', examples: [example] },
  });
};

export const LIMIT: ParameterOf = ({ ApiQuery }) =>
  ApiQuery({
    name: 'limit',
    required: false,
    description: `How many at most. Above ${MAX_PAGE_ITEMS} it is taken as ${MAX_PAGE_ITEMS}.`,
    schema: { type: 'integer', minimum: 1, default: MAX_PAGE_ITEMS },
  });

export const BEFORE_ID: ParameterOf = ({ ApiQuery }, prefix = 'op') =>
  ApiQuery({
    name: 'before_id',
    required: false,
    description: 'Only those older than the one with this id, which may be deleted by now. `beforeId` is the same.',
    schema: { type: 'string', pattern: `${idPattern(prefix)}|^$`, examples: [`${prefix}_${EXAMPLE_KSUID}`] },
  });

export const AS_OF: ParameterOf = ({ ApiQuery }) =>
  ApiQuery({
    name: 'as_of',
    required: false,
    description:
      'A log position, or an RFC 3339 time: what was there then. Before its creation and after its deletion a thing is not ' +
      'found; the future is refused. Whether the caller may read it is decided as of now.',
    schema: { type: 'string', examples: ['42', EXAMPLE_TIME] },
  });

export const AFTER: ParameterOf = ({ ApiQuery }) =>
  ApiQuery({
    name: 'after',
    required: false,
    description: 'Only events behind this log position.',
    schema: { type: 'integer', minimum: 0, default: 0 },
  });

export const EVENT_LIMIT: ParameterOf = ({ ApiQuery }) =>
  ApiQuery({
    name: 'limit',
    required: false,
    description: `How many at most. Above ${MAX_PAGE_EVENTS} it is taken as ${MAX_PAGE_EVENTS}. A page may hold fewer and still have a next one.`,
    schema: { type: 'integer', minimum: 1, default: MAX_PAGE_ITEMS },
  });

export const filterParameter =
  (name: string, description: string, schema: object): ParameterOf =>
  ({ ApiQuery }) =>
    ApiQuery({ name, required: false, description, schema: { type: 'string', ...schema } });

export const LAST_EVENT_ID: ParameterOf = ({ ApiHeader }) =>
  ApiHeader({
    name: 'Last-Event-ID',
    required: false,
    description: 'Of a live feed: the id of the last message that arrived, in place of `after`.',
    schema: { type: 'string', pattern: '^\\d*$' },
  });

export const IDEMPOTENCY_KEY: ParameterOf = ({ ApiHeader }) =>
  ApiHeader({
    name: 'Idempotency-Key',
    required: false,
    description:
      'Sent again with the same key, the same request of the same caller changes nothing and is answered as the first time.',
    schema: { type: 'string', pattern: '^[\\x20-\\x7e]{1,255}$' },
  });

export const IF_MATCH: ParameterOf = ({ ApiHeader }) =>
  ApiHeader({
    name: 'If-Match',
    required: false,
    description: 'Change only this version: one ETag, several with commas, or `*`.',
    schema: { type: 'string' },
  });

export const IF_NONE_MATCH: ParameterOf = ({ ApiHeader }) =>
  ApiHeader({
    name: 'If-None-Match',
    required: false,
    description: 'The versions that the caller has already: one ETag, several with commas, or `*`.',
    schema: { type: 'string' },
  });

/** What a route can answer that is open to everyone. */
export const OPEN: readonly ProblemName[] = ['request_malformed', 'request_timed_out', 'headers_too_large', 'internal'];

/** What every other route can answer, too. */
export const CLOSED: readonly ProblemName[] = [
  ...OPEN,
  'authorization_missing',
  'authorization_not_bearer',
  'api_key_malformed',
  'api_key_unknown',
  'caller_inactive',
  'too_many_requests',
  'overloaded',
];

/** What a route for gateways can answer, who belong to no account. */
export const FOR_GATEWAYS: readonly ProblemName[] = CLOSED.filter((name) => name !== 'caller_inactive');

/** Where a request may carry a body, needed or not. */
export const BODY: readonly ProblemName[] = ['body_malformed', 'unsupported_content_type', 'body_too_large'];

/** Where the body has fields. */
export const FIELDS: readonly ProblemName[] = ['field_unknown', 'field_wrong_type'];

/** The shape of every error: see problem.filter.ts. */
export const ERROR_SCHEMA = {
  type: 'object',
  description: 'Every failure has this shape, and `error_code` says which it is.',
  required: ['error_code', 'status_code', 'msg', 'details'],
  properties: {
    error_code: {
      type: 'string',
      description: 'Which failure it is, for programs.',
      pattern: '^ERR_(NGROK|TAS)_\\d+$',
    },
    status_code: { type: 'integer', description: 'The HTTP status once more.' },
    msg: { type: 'string', description: 'A sentence for a person, with the field, its value and the limit.' },
    details: {
      type: 'object',
      description: 'A flat map of strings.',
      required: ['operation_id'],
      properties: { operation_id: { type: 'string', pattern: idPattern('op') } },
      additionalProperties: { type: 'string' },
    },
  },
};

/** One response for each status that these problems have. */
export function problemResponses(names: readonly ProblemName[]): ApiResponseOptions[] {
  const statuses = [...new Set(names.map((name) => PROBLEMS[name][0]))].sort();
  return statuses.map((status) =>
    problemResponse(status, [...new Set(names.filter((n) => PROBLEMS[n][0] === status))]),
  );
}

const problemResponse = (status: number, names: readonly ProblemName[]): ApiResponseOptions => ({
  status,
  description: `${STATUS_CODES[status]}.`,
  headers: refs('Ngrok-Operation-Id', ...headersAt(status)),
  content: {
    'application/json': {
      schema: {
        allOf: [{ $ref: '#/components/schemas/Error' }],
        properties: {
          error_code: { enum: [...new Set(names.map((name) => PROBLEMS[name][1]))] },
          status_code: { enum: [status] },
        },
      },
      examples: Object.fromEntries(names.map((name) => [name, { $ref: `#/components/examples/${name}` }])),
    },
  },
});

function headersAt(status: number): (keyof typeof HEADER_DEFINITIONS)[] {
  if (status === 401) return ['WWW-Authenticate'];
  return status === 429 || status === 503 ? ['Retry-After'] : [];
}

/** An error of every kind, by the name of its problem. */
export const PROBLEM_BODIES = Object.fromEntries(
  (Object.keys(PROBLEMS) as ProblemName[]).map((name) => [name, { value: exampleOf(name) }]),
);

function exampleOf(name: ProblemName) {
  const [status_code, error_code] = PROBLEMS[name];
  const details = { operation_id: `op_${EXAMPLE_KSUID}` };
  return { error_code, status_code, msg: PROBLEM_EXAMPLES[name], details };
}
