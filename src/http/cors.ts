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

/** The CORS headers that do not depend on the request. */
export function constantCorsHeaders(corsOrigins: readonly string[]): HeaderValues {
  if (corsOrigins.includes('*')) return corsHeaders('*');
  return corsOrigins.length > 0 ? { vary: 'Origin' } : {};
}

/** The CORS headers of a request from each allowed origin. */
export const corsHeadersByOrigin = (corsOrigins: readonly string[]): ReadonlyMap<string, HeaderValues> =>
  new Map(corsOrigins.map((origin) => [origin, corsHeaders(origin)]));

/** Never `Allow-Credentials`: a key travels in Authorization, which a page must set itself. */
const corsHeaders = (origin: string): HeaderValues => ({
  'access-control-allow-origin': origin,
  'access-control-expose-headers':
    'ETag, Link, Log-Position, Ngrok-Operation-Id, RateLimit, RateLimit-Policy, Retry-After',
});

const PREFLIGHT_HEADERS: HeaderValues = {
  'access-control-allow-methods': 'GET, HEAD, POST, PUT, PATCH, DELETE',
  'access-control-allow-headers':
    'Authorization, Content-Type, Idempotency-Key, If-Match, If-None-Match, Last-Event-ID, Ngrok-Version, Traceparent, Tracestate',
  // Two hours, the maximum of Chrome.
  'access-control-max-age': '7200',
};

type Routes = readonly { readonly method: string; readonly path: string }[];

/**
 * Handles a request that matches no route, after its headers are set: lists the path's methods in `Allow`, and answers
 * OPTIONS of a known path. A preflight of an allowed origin is answered on any path, so that the page can read the 404.
 * @returns whether it answered; otherwise the caller answers 404.
 */
export function answerUnrouted({ method, url, headers }: FastifyRequest, reply: FastifyReply, routes: Routes): boolean {
  const methods = methodsOf(url, routes);
  if (methods.length > 0) void reply.header('allow', [...methods, 'OPTIONS'].join(', '));
  if (method !== 'OPTIONS') return false;
  const isPreflight = headers.origin !== undefined && headers['access-control-request-method'] !== undefined;
  const isAllowed = isPreflight && reply.hasHeader('access-control-allow-origin');
  if (isAllowed) void reply.headers(PREFLIGHT_HEADERS);
  if (!isAllowed && methods.length === 0) return false;
  void reply.code(204).send();
  return true;
}

function methodsOf(url: string, routes: Routes): string[] {
  const [path = ''] = url.split('?', 1);
  const segments = segmentsOf(path);
  const matching = routes.filter((route) => matches(segmentsOf(route.path), segments));
  return [...new Set(matching.map(({ method }) => method))].sort();
}

/** The router ignores duplicate and trailing slashes, so this does too. */
const segmentsOf = (path: string): string[] => path.split('/').filter((segment) => segment !== '');

const matches = (pattern: readonly string[], segments: readonly string[]): boolean =>
  pattern.length === segments.length &&
  pattern.every((segment, n) => segment.startsWith(':') || segment === segments[n]);
