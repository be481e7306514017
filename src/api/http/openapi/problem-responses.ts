import { STATUS_CODES } from 'node:http';
import type { ApiResponseOptions } from '@nestjs/swagger';
import { PROBLEMS, type ProblemName } from '../../../kernel/problem.js';
import { idPattern } from './parts.js';
import { type HeaderName, headerRefs } from './response-headers.js';

/** Problems of a public route. */
export const PUBLIC_PROBLEMS: readonly ProblemName[] = [
  'request_malformed',
  'request_timed_out',
  'expectation_failed',
  'headers_too_large',
  'internal',
  'not_implemented',
  'http_version_unsupported',
];

/** Problems of every route that needs an API key. */
export const API_KEY_PROBLEMS: readonly ProblemName[] = [
  ...PUBLIC_PROBLEMS,
  'authorization_missing',
  'authorization_not_bearer',
  'api_key_malformed',
  'api_key_unknown',
  'caller_inactive',
  'too_many_requests',
  'overloaded',
];

/** Problems of a route for gateways, which have no owner that could be inactive. */
export const GATEWAY_PROBLEMS: readonly ProblemName[] = API_KEY_PROBLEMS.filter((name) => name !== 'caller_inactive');

/** Further problems of a route that accepts a body, required or not. */
export const BODY_PROBLEMS: readonly ProblemName[] = ['body_malformed', 'unsupported_content_type', 'body_too_large'];

/** Further problems of a route whose body has fields. */
export const FIELD_PROBLEMS: readonly ProblemName[] = ['field_unknown', 'field_wrong_type'];

/** Schema of the body of every error: see problem.filter.ts. */
export const ERROR_SCHEMA = {
  type: 'object',
  description: 'The body of every error; `error_code` identifies the error.',
  required: ['error_code', 'status_code', 'msg', 'details'],
  properties: {
    error_code: { type: 'string', description: 'Error code, for programs.', pattern: '^ERR_(NGROK|TAS)_\\d+$' },
    status_code: { type: 'integer', description: 'HTTP status of the answer.' },
    msg: { type: 'string', description: 'A sentence for people, with the field, its value and the limit.' },
    details: {
      type: 'object',
      description: 'A flat map of strings.',
      required: ['operation_id'],
      properties: { operation_id: { type: 'string', pattern: idPattern('op') } },
      additionalProperties: { type: 'string' },
    },
  },
};

/** The problems of an operation at each status. The document describes the response of a status once for all of them. */
export function problemResponses(names: readonly ProblemName[]): ApiResponseOptions[] {
  const at = new Map<number, ProblemName[]>();
  for (const name of new Set(names)) at.set(PROBLEMS[name][0], [...(at.get(PROBLEMS[name][0]) ?? []), name]);
  return [...at].map(([status, problems]) => ({ status, ['x-problems' as string]: problems }));
}

/** The response with this status, for all operations that refer to it. */
export const problemResponse = (status: number, names: readonly ProblemName[]) => ({
  description: `${STATUS_CODES[status]}.`,
  headers: headerRefs('Ngrok-Operation-Id', ...headersAt(status)),
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

function headersAt(status: number): HeaderName[] {
  if (status === 401) return ['WWW-Authenticate'];
  if (status === 429) return ['Retry-After', 'RateLimit', 'RateLimit-Policy'];
  return status === 503 ? ['Retry-After'] : [];
}
