import { gzip } from 'node:zlib';
import { negotiate } from '@fastify/accept-negotiator';
import type { FastifyReply, FastifyRequest } from 'fastify';
import type { Config } from '../config.js';
import { isSafeMethod } from './preconditions.js';

/** How long a connection may take for what. Node looks at its connections only every `checkEveryMs`. */
export interface Timeouts {
  readonly keepAliveMs: number;
  readonly headersMs: number;
  readonly requestMs: number;
  readonly checkEveryMs: number;
}

export const TIMEOUTS: Timeouts = {
  // Above the 60 s after which common proxies close an idle connection: the proxy must be the one that closes, or it may send
  // a request into a connection that is just going away.
  keepAliveMs: 72_000,
  // Who sends a byte at a time holds a connection, not a thread, but not for ever either. Also for who sends nothing at all.
  headersMs: 15_000,
  // From the first byte to the last of the body: a body of 2 MiB gets through at 280 kbit/s.
  requestMs: 60_000,
  checkEveryMs: 5_000,
};

type MannersConfig = Pick<Config, 'publicUrl' | 'corsOrigins'>;
type HeaderValues = Readonly<Record<string, string>>;

const ONE_YEAR_SECONDS = 31_536_000;

/** What goes on every answer, whatever it is, even on one to bytes that are not HTTP. */
export const constantHeaders = ({ publicUrl, corsOrigins }: MannersConfig): HeaderValues => ({
  // Whatever a key opens stays out of caches, with every error. A public route says otherwise.
  'cache-control': 'no-store',
  // Should a browser be brought to show an answer as a page, nothing in it runs and nobody frames it. /docs sets its own.
  'content-security-policy': "default-src 'none'; frame-ancestors 'none'",
  'referrer-policy': 'no-referrer',
  'x-content-type-options': 'nosniff',
  // Only where the operator says that there is TLS in front; other names of the domain are not ours to decide for.
  ...(/^https:/i.test(publicUrl ?? '') && { 'strict-transport-security': `max-age=${ONE_YEAR_SECONDS}` }),
  ...(isForAny(corsOrigins) && corsHeaders('*')),
  ...(corsOrigins.length > 0 && !isForAny(corsOrigins) && { vary: 'Origin' }),
});

/**
 * Sets the headers that every answer has. Called before anything else happens to a request, so that errors have them too
 * (a browser hides an error without CORS headers from its page), and so that what a route sets itself wins.
 */
export function headerSetter(config: MannersConfig): (request: FastifyRequest, reply: FastifyReply) => void {
  const constant = constantHeaders(config);
  const headersByOrigin = new Map(config.corsOrigins.map((origin) => [origin, corsHeaders(origin)]));
  return ({ headers: { origin } }, reply) => {
    void reply.headers(constant);
    const cors = origin === undefined ? undefined : headersByOrigin.get(origin);
    if (cors !== undefined) void reply.headers(cors);
  };
}

const isForAny = (corsOrigins: readonly string[]): boolean => corsOrigins.includes('*');

/** Never `Allow-Credentials`: keys travel in Authorization, which a page must set itself. */
const corsHeaders = (origin: string): HeaderValues => ({
  'access-control-allow-origin': origin,
  'access-control-expose-headers': 'ETag, Log-Position, Ngrok-Operation-Id, Retry-After',
});

const PREFLIGHT_HEADERS: HeaderValues = {
  'access-control-allow-methods': 'GET, HEAD, POST, PUT, PATCH, DELETE',
  'access-control-allow-headers':
    'Authorization, Content-Type, Idempotency-Key, If-Match, If-None-Match, Last-Event-ID, Ngrok-Version',
  // Two hours, the most that Chrome keeps it.
  'access-control-max-age': '7200',
};

type Routes = readonly { readonly method: string; readonly path: string }[];

/**
 * What no route takes, called after the headers are set: names the path's methods in `Allow`, and answers OPTIONS of a known
 * path. A preflight of an origin that may call is answered on any path, so that the page can read the 404 of its request.
 * @returns whether it was answered; otherwise the 404 of the contract follows.
 */
export function answerUnrouted({ method, url, headers }: FastifyRequest, reply: FastifyReply, routes: Routes): boolean {
  const methods = methodsOf(url, routes);
  if (methods.length > 0) void reply.header('allow', [...methods, 'OPTIONS'].join(', '));
  if (method !== 'OPTIONS') return false;
  const isPreflight = headers.origin !== undefined && headers['access-control-request-method'] !== undefined;
  const isGranted = isPreflight && reply.hasHeader('access-control-allow-origin');
  if (isGranted) void reply.headers(PREFLIGHT_HEADERS);
  if (!isGranted && methods.length === 0) return false;
  void reply.code(204).send();
  return true;
}

function methodsOf(url: string, routes: Routes): string[] {
  const [path = ''] = url.split('?', 1);
  const parts = partsOf(path);
  return [...new Set(routes.filter((route) => fits(partsOf(route.path), parts)).map(({ method }) => method))].sort();
}

/** As the router sees a path: duplicate and trailing slashes do not count. */
const partsOf = (path: string): string[] => path.split('/').filter((part) => part !== '');

const fits = (pattern: readonly string[], parts: readonly string[]): boolean =>
  pattern.length === parts.length && pattern.every((part, n) => part.startsWith(':') || part === parts[n]);

/** Two packets on the wire: what is shorter does not arrive sooner for being compressed. */
export const MIN_COMPRESSED_BYTES = 2_048;

const COMPRESSIBLE = /^(?:application\/(?:json|javascript)|text\/)/;

/**
 * Compresses lists and other long texts for who takes gzip, in zlib's threads (Brotli, at the same cost, saves 3 % more of a
 * list). Never what has an ETag: a strong tag stands for the very bytes, and single resources are the hot path.
 * No secret is at risk by it (BREACH): no page can make a browser send a key of its own accord.
 */
export function compress(
  { method, headers }: FastifyRequest,
  reply: FastifyReply,
  body: unknown,
  done: (error: Error | null, body: unknown) => void,
): void {
  if (!isSafeMethod(method) || !isText(body) || !isCompressible(reply)) return void done(null, body);
  addVary(reply, 'Accept-Encoding');
  if (body.length < MIN_COMPRESSED_BYTES || !takesGzip(headers['accept-encoding'])) return void done(null, body);
  gzip(body, (error, bytes) => {
    if (error !== null) return void done(null, body);
    void reply.header('content-encoding', 'gzip').removeHeader('content-length');
    done(null, bytes);
  });
}

const isText = (body: unknown): body is string | Buffer => typeof body === 'string' || Buffer.isBuffer(body);

const isCompressible = (reply: FastifyReply): boolean =>
  !reply.hasHeader('etag') &&
  reply.statusCode === 200 &&
  !reply.hasHeader('content-encoding') &&
  COMPRESSIBLE.test(String(reply.getHeader('content-type')));

function addVary(reply: FastifyReply, name: string): void {
  const before = reply.getHeader('vary');
  void reply.header('vary', before === undefined ? name : `${before}, ${name}`);
}

const takesGzip = (accepted: string | string[] | undefined): boolean =>
  typeof accepted === 'string' && negotiate(accepted.toLowerCase(), ['gzip', 'identity']) === 'gzip';

/** CORS_ORIGINS: `*`, or origins as browsers send them, separated by commas. */
export function parseOrigins(text: string): readonly string[] {
  if (text.trim() === '*') return ['*'];
  return text.split(',').map((item) => originOf(item.trim()));
}

function originOf(item: string): string {
  const url = URL.canParse(item) ? new URL(item) : undefined;
  const isOrigin = url !== undefined && /^https?:$/.test(url.protocol) && `${url.origin}/` === url.href;
  if (!isOrigin || /[?#*]/.test(item)) {
    throw new Error("must be '*' alone, or http and https origins without a path, separated by commas");
  }
  return url.origin;
}
