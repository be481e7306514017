import type { FastifyReply, FastifyRequest } from 'fastify';
import { constantCorsHeaders, corsHeadersByOrigin, type HeaderValues } from './cors.js';
import type { HttpOptions } from './http-options.js';

export const OPERATION_ID_HEADER = 'ngrok-operation-id';

const ONE_YEAR_SECONDS = 31_536_000;

/** The headers that every answer has, even the answer to bytes that are not HTTP. */
export const constantHeaders = ({ publicUrl, corsOrigins }: HttpOptions): HeaderValues => ({
  // No cache may keep an answer that needed a key, nor an error. A public route overrides this.
  'cache-control': 'no-store',
  // If a browser shows an answer as a page, that page runs no script and cannot be framed. /docs sets its own policy.
  'content-security-policy': "default-src 'none'; frame-ancestors 'none'",
  'referrer-policy': 'no-referrer',
  'x-content-type-options': 'nosniff',
  // Only if PUBLIC_URL says that TLS is in front. No `includeSubDomains`: other hosts of the domain are not ours.
  ...(/^https:/i.test(publicUrl ?? '') && { 'strict-transport-security': `max-age=${ONE_YEAR_SECONDS}` }),
  ...constantCorsHeaders(corsOrigins),
});

/**
 * Sets the headers that every answer has. Runs first: errors then have them too (a browser hides an error without CORS
 * headers from the page), and a route can override them.
 */
export function headerSetter(options: HttpOptions): (request: FastifyRequest, reply: FastifyReply) => void {
  const constant = constantHeaders(options);
  const byOrigin = corsHeadersByOrigin(options.corsOrigins);
  return ({ headers: { origin } }, reply) => {
    void reply.headers(constant);
    const cors = origin === undefined ? undefined : byOrigin.get(origin);
    if (cors !== undefined) void reply.headers(cors);
  };
}
