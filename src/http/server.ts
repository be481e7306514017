import { type Server, STATUS_CODES } from 'node:http';
import type { Socket } from 'node:net';
import type { NestFastifyApplication } from '@nestjs/platform-fastify';
import type { FastifyHttpOptions, FastifyInstance, FastifyReply, FastifyRequest } from 'fastify';
import type { Config } from '../config.js';
import type { IdSource } from '../ids.js';
import { Problem, type ProblemName } from '../problem.js';
import { Answer } from './answer.js';
import type { Authenticator } from './authenticator.js';
import { answerUnrouted, compress, constantHeaders, headerSetter, TIMEOUTS, type Timeouts } from './headers.js';
import { parseJsonBody } from './json-body.js';
import { isSafeMethod, matchesIfNoneMatch } from './preconditions.js';
import { JSON_TYPE, ProblemFilter, problemBody, sendProblem, toProblem } from './problem.filter.js';
import { ValidatedBodyPipe } from './validated-body.js';

/** A traffic policy of 256 KiB grows up to sixfold when JSON escapes it. */
const BODY_LIMIT_BYTES = 2 * 1024 * 1024;

export const OPERATION_ID_HEADER = 'ngrok-operation-id';

export function fastifyOptions(
  ids: IdSource,
  config: Pick<Config, 'trustedProxies' | 'publicUrl' | 'corsOrigins'>,
  { keepAliveMs, headersMs, requestMs, checkEveryMs }: Timeouts = TIMEOUTS,
): FastifyHttpOptions<Server> {
  const setHeaders = headerSetter(config);
  return {
    // The request's id is the operation id: there before any hook, so that even a malformed URL has one.
    genReqId: () => ids.next('op'),
    bodyLimit: BODY_LIMIT_BYTES,
    // Only what one of these sends may say who the caller is (X-Forwarded-For, -Proto, -Host).
    trustProxy: config.trustedProxies.length > 0 && [...config.trustedProxies],
    // Clients concatenate base URLs, so `//ssh_credentials` is common.
    routerOptions: { ignoreDuplicateSlashes: true, ignoreTrailingSlash: true },
    // While stopping, what comes in on an open connection is still served, with `Connection: close`: nobody sees an error.
    return503OnClosing: false,
    forceCloseConnections: 'idle',
    keepAliveTimeout: keepAliveMs,
    requestTimeout: requestMs,
    http: { headersTimeout: headersMs, connectionsCheckingInterval: checkEveryMs },
    // Before any hook, so the headers of every answer are set here again.
    frameworkErrors: (error, request, reply) => {
      setHeaders(request, reply as FastifyReply);
      void reply.header(OPERATION_ID_HEADER, request.id);
      sendProblem(reply as FastifyReply, request.id, toProblem(error));
    },
    clientErrorHandler: (error, socket) => answerRawProblem(ids, constantHeaders(config), error, socket),
  };
}

/** One route as it is served: `{ method: 'GET', path: '/ssh_credentials/:id' }`. */
export interface Route {
  readonly method: string;
  readonly path: string;
  readonly isPublic: boolean;
  readonly isForGateways: boolean;
}

/** Everything about HTTP that is the same for every route. The routes are in the list once the application listens. */
export function serveHttp(
  nest: NestFastifyApplication,
  { config, authentication }: { config: Pick<Config, 'publicUrl' | 'corsOrigins'>; authentication: Authenticator },
): readonly Route[] {
  const server = nest.getHttpAdapter().getInstance() as unknown as FastifyInstance;
  nest.useGlobalFilters(new ProblemFilter());
  nest.useGlobalPipes(new ValidatedBodyPipe());
  readBodiesAsJson(server);
  server.decorateRequest('caller', undefined);
  server.decorateRequest('baseUrl', {
    getter(this: FastifyRequest) {
      return config.publicUrl ?? `${schemeOf(this)}://${hostOf(this)}`;
    },
  });
  const routes = collectRoutes(server);
  const setHeaders = headerSetter(config);
  server.addHook('onRequest', (request, reply, done) => {
    setHeaders(request, reply);
    void reply.header(OPERATION_ID_HEADER, request.id);
    if (request.is404 && answerUnrouted(request, reply, routes)) return;
    done();
  });
  // Before the body is read: a stranger cannot make us parse anything. Closed by default; a route says when it is public.
  server.addHook('onRequest', async (request, reply) => {
    if (request.is404) return;
    const { isPublic, isForGateways } = request.routeOptions.config;
    // Public answers may be kept, but are asked for again: they change with the next version of the service.
    if (isPublic === true) return void reply.header('cache-control', 'no-cache');
    if (isForGateways === true) return authentication.authenticateGateway(request);
    request.caller = await authentication.authenticate(request);
  });
  // The one place where an answer becomes headers and a body.
  server.addHook('preSerialization', (request, reply, payload, done) => {
    if (!(payload instanceof Answer)) return done(null, payload);
    void reply.headers(payload.headers);
    const { render } = request.routeOptions.config;
    done(null, render === undefined ? payload.render(request.baseUrl) : render(payload, request.baseUrl));
  });
  server.addHook('onSend', (request, reply, payload, done) => {
    const isFound = reply.statusCode === 200 && isSafeMethod(request.method);
    if (!isFound || !matchesIfNoneMatch(request, reply.getHeader('etag'))) {
      return compress(request, reply, payload, done);
    }
    void reply.code(304).removeHeader('content-length').removeHeader('content-type');
    // Fastify drops the body of a HEAD itself, after it took its length.
    done(null, request.method === 'HEAD' ? payload : null);
  });
  return routes;
}

function collectRoutes(server: FastifyInstance): readonly Route[] {
  const routes: Route[] = [];
  server.addHook('onRoute', ({ method, url, config }) => {
    const [isPublic, isForGateways] = [config?.isPublic === true, config?.isForGateways === true];
    for (const one of [method].flat()) routes.push({ method: one, path: url, isPublic, isForGateways });
  });
  return routes;
}

/** JSON whatever the case: a body without a type is read as JSON, another type is refused. */
function readBodiesAsJson(server: FastifyInstance): void {
  server.removeAllContentTypeParsers();
  server.addContentTypeParser('application/json', { parseAs: 'buffer' }, (_request, body: Buffer, done) =>
    parseInto(body, done),
  );
  server.addContentTypeParser('*', { parseAs: 'buffer' }, (request, body: Buffer, done) => {
    const type = request.headers['content-type'];
    if (type === undefined || type === '') return parseInto(body, done);
    done(new Problem('unsupported_content_type', 'The body must be sent as application/json.'));
  });
}

/** No body at all is fine where none is needed: clients send a JSON content type on GET and DELETE. */
function parseInto(body: Buffer, done: (error: Error | null, value?: unknown) => void): void {
  try {
    done(null, body.length === 0 ? undefined : parseJsonBody(body));
  } catch (error) {
    done(error as Error);
  }
}

/** A proxy's X-Forwarded-Proto may be any text, and ends up in answers. */
const schemeOf = (request: FastifyRequest): string => (request.protocol === 'https' ? 'https' : 'http');

const HOST = /^[A-Za-z0-9._-]+(:\d{1,5})?$|^\[[0-9A-Fa-f:.]+\](:\d{1,5})?$/;

/** The Host header when it is one; it ends up in answers, so anything else is replaced by where we listen. */
function hostOf(request: FastifyRequest): string {
  if (HOST.test(request.host)) return request.host;
  const { localAddress = '127.0.0.1', localPort = 80 } = request.socket;
  return `${localAddress.includes(':') ? `[${localAddress}]` : localAddress}:${localPort}`;
}

const RAW_PROBLEMS = new Map<string | undefined, [ProblemName, string]>([
  ['HPE_HEADER_OVERFLOW', ['headers_too_large', 'The request headers are too large.']],
  ['ERR_HTTP_REQUEST_TIMEOUT', ['request_timed_out', 'The request did not arrive in time.']],
]);

/** Answers what is not even HTTP, or never became it; there is no request and no reply yet, only the socket. */
function answerRawProblem(
  ids: IdSource,
  headers: Readonly<Record<string, string>>,
  error: NodeJS.ErrnoException,
  socket: Socket,
): void {
  if (error.code === 'ECONNRESET' || !socket.writable) return void socket.destroy();
  const [name, message] = RAW_PROBLEMS.get(error.code) ?? ['request_malformed', 'The request is not valid HTTP.'];
  const problem = new Problem(name, message);
  const operationId = ids.next('op');
  const body = JSON.stringify(problemBody(operationId, problem));
  socket.end(
    `HTTP/1.1 ${problem.status} ${STATUS_CODES[problem.status]}\r\n` +
      Object.entries(headers)
        .map(([header, value]) => `${header}: ${value}\r\n`)
        .join('') +
      `content-type: ${JSON_TYPE}\r\ncontent-length: ${Buffer.byteLength(body)}\r\n` +
      `${OPERATION_ID_HEADER}: ${operationId}\r\nconnection: close\r\n\r\n${body}`,
  );
}
