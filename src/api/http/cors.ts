import type { FastifyReply, FastifyRequest } from 'fastify';

export type HeaderValues = Readonly<Record<string, string>>;

/** Parses CORS_ORIGINS: `*`, or origins as browsers send them, separated by commas. */
export function parseOrigins(text: string): readonly string[] {
  if (text.trim() === '*') return ['*'];
  return text.split(',').map((item) => parseOrigin(item.trim()));
}

function parseOrigin(item: string): string {
  const url = URL.canParse(item) ? new URL(item) : undefined;
  const isOrigin = url !== undefined && /^https?:$/.test(url.protocol) && `${url.origin}/` === url.href;
  if (!isOrigin || /[?#*]/.test(item)) {
    throw new Error("must be '*' alone, or http and https origins without a path, separated by commas");
  }
  return url.origin;
}

/**
 * The CORS headers of an answer to a request from `origin`. Never `Allow-Credentials`: a key travels in Authorization,
 * which a page must set itself.
 */
export function corsHeaders(allowed: readonly string[], origin: string | undefined): HeaderValues {
  if (allowed.length === 0) return {};
  const isOpen = allowed.includes('*');
  const readers = isOpen ? '*' : allowed.find((one) => one === origin);
  return {
    ...(!isOpen && { vary: 'Origin' }),
    ...(readers !== undefined && {
      'access-control-allow-origin': readers,
      'access-control-expose-headers':
        'ETag, Link, Log-Position, Ngrok-Operation-Id, RateLimit, RateLimit-Policy, Retry-After',
    }),
  };
}

const PREFLIGHT_HEADERS: HeaderValues = {
  'access-control-allow-methods': 'GET, HEAD, POST, PUT, PATCH, DELETE',
  'access-control-allow-headers':
    'Authorization, Content-Type, Idempotency-Key, If-Match, If-None-Match, Last-Event-ID, Ngrok-Version, Traceparent, Tracestate',
  // Two hours, the maximum of Chrome.
  'access-control-max-age': '7200',
};

/**
 * Adds the headers of the answer to a preflight, after the other headers are set.
 * @returns false if the request is not a preflight, or comes from an origin that is not allowed.
 */
export function addPreflightHeaders({ headers }: FastifyRequest, reply: FastifyReply): boolean {
  const isPreflight = headers.origin !== undefined && headers['access-control-request-method'] !== undefined;
  const isAllowed = isPreflight && reply.hasHeader('access-control-allow-origin');
  if (isAllowed) void reply.headers(PREFLIGHT_HEADERS);
  return isAllowed;
}
