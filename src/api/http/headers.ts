import { corsHeaders, type HeaderValues } from './cors.js';
import type { HttpOptions } from './http-options.js';

const ONE_YEAR_SECONDS = 31_536_000;

/**
 * Makes the headers that every answer has, even an error and the answer to bytes that are not HTTP: a browser hides an
 * error without CORS headers from the page. They are set first, so that a route can override them.
 */
export function standardHeaders({ publicUrl, corsOrigins }: HttpOptions) {
  const constant = {
    // A cache must keep no answer that needed a key, and no error. A public route overrides this.
    'cache-control': 'no-store',
    // If a browser shows an answer as a page, that page runs no script and cannot be framed. /docs sets its own policy.
    'content-security-policy': "default-src 'none'; frame-ancestors 'none'",
    'referrer-policy': 'no-referrer',
    'x-content-type-options': 'nosniff',
    // This header is set only if PUBLIC_URL says that TLS is in front. It has no `includeSubDomains`, since other hosts
    // of the domain are not ours.
    ...(/^https:/i.test(publicUrl ?? '') && { 'strict-transport-security': `max-age=${ONE_YEAR_SECONDS}` }),
  };
  return (operationId: string, origin?: string): HeaderValues => ({
    ...constant,
    ...corsHeaders(corsOrigins, origin),
    'ngrok-operation-id': operationId,
  });
}
