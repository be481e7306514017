import type { ApiResponseOptions } from '@nestjs/swagger';
import { EXAMPLE_KSUID, idPattern } from './parts.js';

/** The headers of answers. The document defines each of them once; responses refer to it by name. */
export const HEADER_DEFINITIONS = {
  'Ngrok-Operation-Id': {
    description: 'Id of this request; the details of an error and the event that the request wrote have it, too.',
    required: true,
    schema: { type: 'string', pattern: idPattern('op'), examples: [`op_${EXAMPLE_KSUID}`] },
  },
  ETag: {
    description: 'Version of the resource; send it as If-Match or If-None-Match.',
    required: true,
    schema: { type: 'string', pattern: '^"\\d+(;[0-9a-f]{16})?"$', examples: ['"1"'] },
  },
  'Log-Position': {
    description: "Position of the change in the account's log; without a change, the newest position.",
    required: true,
    schema: { type: 'string', pattern: '^\\d+$', examples: ['42'] },
  },
  Link: {
    description: 'URI of the next page, if there is one.',
    required: false,
    schema: { type: 'string', pattern: '^<[^>]+>; rel="next"$', examples: ['</events?after=42>; rel="next"'] },
  },
  'Retry-After': {
    description: 'Seconds to wait before the next attempt.',
    required: true,
    schema: { type: 'string', pattern: '^\\d+$', examples: ['1'] },
  },
  RateLimit: {
    description:
      'For each limit of requests: the requests that remain (r) until its window ends (t, in seconds). Every answer to an API key has it if the service limits requests.',
    required: false,
    schema: { type: 'string', pattern: '^"(key|account)";r=\\d+;t=\\d+', examples: ['"key";r=0;t=42'] },
  },
  'RateLimit-Policy': {
    description: 'The limits of requests: how many (q) in a window (w, in seconds). It comes with RateLimit.',
    required: false,
    schema: {
      type: 'string',
      pattern: '^"(key|account)";q=\\d+;w=\\d+',
      examples: ['"key";q=600;w=60, "account";q=6000;w=60'],
    },
  },
  Location: {
    description: 'Where it is.',
    required: true,
    schema: { type: 'string', format: 'uri' },
  },
  'WWW-Authenticate': {
    description: 'The authentication scheme.',
    required: true,
    schema: { type: 'string', const: 'Bearer' },
  },
};

export type HeaderName = keyof typeof HEADER_DEFINITIONS;

export const headerRefs = (...names: readonly HeaderName[]) =>
  Object.fromEntries(names.map((name) => [name, { $ref: `#/components/headers/${name}` }]));

export const HEADERS = headerRefs('Ngrok-Operation-Id');
export const FEED_HEADERS = headerRefs('Ngrok-Operation-Id', 'Link');
export const REDIRECT_HEADERS = headerRefs('Ngrok-Operation-Id', 'Location');
export const VERSION_HEADERS = headerRefs('Ngrok-Operation-Id', 'ETag');
/** Of an answer that may show what no event says. */
export const UNVERSIONED_HEADERS = {
  ...HEADERS,
  ETag: { description: 'Absent with `include=usage`.', schema: HEADER_DEFINITIONS.ETag.schema },
};
export const CHANGED_HEADERS = headerRefs('Ngrok-Operation-Id', 'ETag', 'Log-Position');
export const DELETED_HEADERS = headerRefs('Ngrok-Operation-Id', 'Log-Position');

export const NOT_MODIFIED: ApiResponseOptions = {
  status: 304,
  description: 'If-None-Match names the current version of the resource.',
  headers: VERSION_HEADERS,
};
