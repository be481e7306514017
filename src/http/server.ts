import type { Server } from 'node:http';
import type { NestFastifyApplication } from '@nestjs/platform-fastify';
import type { FastifyHttpOptions, FastifyInstance, FastifyReply, FastifyRequest } from 'fastify';
import type { Caller } from '../caller.js';
import { untilReachable } from '../database/until-reachable.js';
import type { IdSource } from '../ids.js';
import { nextTurn } from '../in-turns.js';
import { Problem } from '../problem.js';
import { Answer } from './answer.js';
import type { Authenticator } from './authenticator.js';
import { compress } from './compression.js';
import { Connections } from './connections/connections.js';
import { protocolProblemOf } from './connections/protocol.js';
import { standardHeaders } from './headers.js';
import type { HttpOptions } from './http-options.js';
import { parseJsonBody } from './json-body.js';
import type { RequestLog } from './logging/request-log.js';
import { isSafeMethod, matchesIfNoneMatch } from './preconditions.js';
import { ProblemFilter, sendProblem, toProblem } from './problem.filter.js';
import { queryProblemOf } from './query-parameters.js';
import { callerOf } from './request-context.js';
import { TIMEOUTS, type Timeouts } from './timeouts.js';
import { dropForwardedPorts } from './trusted-proxies.js';
import { unroutedHook } from './unrouted.js';

/** JSON escapes can make a traffic policy of 256 KiB six times as long. */
const BODY_LIMIT_BYTES = 2 * 1024 * 1024;

export function fastifyOptions(
  ids: IdSource,
  config: HttpOptions,
  requestLog: RequestLog,
  { keepAliveMs, headersMs, requestMs, checkEveryMs }: Timeouts = TIMEOUTS,
): FastifyHttpOptions<Server> {
  const headersOf = standardHeaders(config);
  return {
    // The request's id is the operation id. It exists before any hook, so that even a malformed URL has one.
    genReqId: () => ids.next('op'),
    bodyLimit: BODY_LIMIT_BYTES,
    // X-Forwarded-For, -Proto and -Host count only if one of these proxies sends them.
    trustProxy: config.trustedProxies.length > 0 && [...config.trustedProxies],
    // Clients append paths to base URLs that end in a slash, so `//ssh_credentials` is common.
    routerOptions: { ignoreDuplicateSlashes: true, ignoreTrailingSlash: true },
    // During a stop, a request on an open connection is still served, with `Connection: close`, so that no client sees
    // an error.
    return503OnClosing: false,
    forceCloseConnections: 'idle',
    keepAliveTimeout: keepAliveMs,
    requestTimeout: requestMs,
    // Node would answer a missing Host without a body; protocolProblemOf counts the Hosts.
    http: { headersTimeout: headersMs, connectionsCheckingInterval: checkEveryMs, requireHostHeader: false },
    // These errors come before any hook, so the headers of every answer are set here as well.
    frameworkErrors: (error, request, reply) => {
      dropForwardedPorts(request.raw.headers);
      void reply.headers(headersOf(request.id, request.headers.origin));
      request.failure = { problem: toProblem(error), error };
      sendProblem(reply as FastifyReply, request.id, request.failure.problem);
      requestLog.answered(request, reply as FastifyReply);
    },
    // The listeners of Connections answer these.
    clientErrorHandler: () => undefined,
  };
}

/** A registered route, for example `{ method: 'GET', path: '/ssh_credentials/:id' }`. */
export interface Route {
  readonly method: string;
  readonly path: string;
  readonly isPublic: boolean;
  readonly isForGateways: boolean;
  /** It changes nothing, so auditors may call it. */
  readonly onlyReads: boolean;
}

/** What the server needs besides its settings. */
interface ServerParts {
  readonly ids: IdSource;
  readonly config: HttpOptions;
  readonly requestLog: RequestLog;
  readonly authentication: Authenticator;
  /** Is told why requests fail. */
  readonly failed: (error: unknown) => void;
  /** Counts the requests of each caller; absent: no limit. */
  readonly requestLimits?: RequestLimiter | undefined;
}

interface RequestLimiter {
  /** The headers of the answer, and the answer itself beyond a limit. */
  admit(caller: Caller): { readonly headers: Readonly<Record<string, string>>; readonly refusal?: Problem };
}

/** Adds the hooks and parsers that all routes share. The returned list holds the routes once the application listens. */
export function serveHttp(
  nest: NestFastifyApplication,
  { ids, config, requestLog, authentication, failed, requestLimits }: ServerParts,
): readonly Route[] {
  const server = nest.getHttpAdapter().getInstance() as unknown as FastifyInstance;
  nest.useGlobalFilters(new ProblemFilter(failed));
  readBodiesAsJson(server);
  server.decorateRequest('caller', undefined);
  server.decorateRequest('gateway', undefined);
  server.decorateRequest('receivedAt', 0);
  server.decorateRequest('remainingWaitMs', config.writeDeadlineMs);
  server.decorateRequest('authenticate', async function (this: FastifyRequest, deadline: number) {
    const authenticate = () => authentication.authenticate(this);
    // A change that arrives during a failover waits for its end, like one that was under way when it began.
    this.caller = await (isSafeMethod(this.method) ? authenticate() : untilReachable(deadline, authenticate));
  });
  server.decorateRequest('baseUrl', {
    getter(this: FastifyRequest) {
      return config.publicUrl ?? `${schemeOf(this)}://${hostOf(this)}`;
    },
  });
  const headersOf = standardHeaders(config);
  answerRawRequests(server, new Connections(ids, headersOf, requestLog));
  const routes = collectRoutes(server);
  const answerUnrouted = unroutedHook(routes);
  server.addHook('onRequest', (request, reply, done) => {
    request.receivedAt = performance.now();
    dropForwardedPorts(request.raw.headers);
    void reply.headers(headersOf(request.id, request.headers.origin));
    const problem = protocolProblemOf(request.raw);
    // What follows on this connection may be part of the same request for a proxy in front.
    if (problem !== undefined) {
      void reply.header('connection', 'close');
      return done(problem);
    }
    if (!request.is404) return done();
    // Here, since the router's own answer would read the body first.
    answerUnrouted(request, reply, done);
  });
  // Runs before the body is read, so that an unauthenticated client cannot make the service parse one. A route is
  // closed unless it declares itself public.
  server.addHook('onRequest', (request, reply, done) => {
    const { isPublic, isForGateways, isForMetrics } = request.routeOptions.config;
    if (isPublic === true) {
      // A cache may keep a public answer but must revalidate it: it changes with the next version of the service.
      void reply.header('cache-control', 'no-cache');
      done();
    } else if (isForGateways === true) {
      authentication.authenticateGateway(request).then((gateway) => {
        request.gateway = gateway;
        done();
      }, done);
    } else if (isForMetrics === true) {
      authentication.authenticateMetrics(request).then(() => done(), done);
    } else {
      const deadline = request.receivedAt + config.writeDeadlineMs;
      const admit = () => {
        request.remainingWaitMs = deadline - performance.now();
        if (requestLimits === undefined) return done();
        const { headers, refusal } = requestLimits.admit(callerOf(request));
        void reply.headers(headers);
        done(refusal);
      };
      request.authenticate(deadline).then(admit, done);
    }
  });
  server.addHook('preHandler', (request, _reply, done) => done(queryProblemOf(request, config.strict)));
  // The one place where an answer becomes headers and a body.
  server.addHook('preSerialization', (request, reply, payload, done) => {
    if (!(payload instanceof Answer)) return done(null, payload);
    void reply.headers(payload.headers);
    const { render } = request.routeOptions.config;
    const body = render === undefined ? payload.render(request.baseUrl) : render(payload, request.baseUrl);
    // For undefined Fastify would serialize the Answer itself.
    done(null, body ?? null);
  });
  server.addHook('onSend', (request, reply, payload, done) => {
    if (reply.statusCode !== 200 || !isSafeMethod(request.method)) return done(null, payload);
    if (!matchesIfNoneMatch(request, reply.getHeader('etag'))) return compress(request, reply, payload, done);
    void reply.code(304).removeHeader('content-length').removeHeader('content-type');
    // Fastify takes the length of a HEAD's body and then drops the body itself.
    done(null, request.method === 'HEAD' ? payload : null);
  });
  server.addHook('onSend', (request, reply, payload, done) => {
    requestLog.answered(request, reply);
    done(null, payload);
  });
  return routes;
}

function answerRawRequests(server: FastifyInstance, connections: Connections): void {
  connections.watch(server.server);
  // Runs after authentication. A client that waits for 100 need not send what will be refused anyway.
  server.addHook('preParsing', ({ headers }, reply, _payload, done) => {
    const isTooLarge = Number(headers['content-length']) > BODY_LIMIT_BYTES;
    if (!isTooLarge) connections.sendContinue(reply.raw);
    done();
  });
}

function collectRoutes(server: FastifyInstance): readonly Route[] {
  const routes: Route[] = [];
  server.addHook('onRoute', ({ method, url, config }) => {
    const [isPublic, isForGateways] = [config?.isPublic === true, config?.isForGateways === true];
    for (const one of [method].flat()) {
      const onlyReads = isSafeMethod(one) || config?.onlyReads === true;
      routes.push({ method: one, path: url, isPublic, isForGateways, onlyReads });
    }
  });
  return routes;
}

/** A body without a content type is parsed as JSON; any type but JSON is refused. */
const CHARSET = /;\s*charset\s*=\s*"?([^\s;"]*)/i;

function readBodiesAsJson(server: FastifyInstance): void {
  server.removeAllContentTypeParsers();
  server.addHook('preParsing', ({ headers }, reply, _payload, done) => {
    const coding = headers['content-encoding']?.trim().toLowerCase() ?? 'identity';
    const hasBody = Number(headers['content-length'] ?? 0) > 0 || headers['transfer-encoding'] !== undefined;
    if (coding === 'identity' || !hasBody) return done();
    // What is accepted instead: RFC 9110, 15.5.16.
    void reply.header('accept-encoding', 'identity');
    done(new Problem('unsupported_content_type', `The body is compressed (Content-Encoding); send it as plain JSON.`));
  });
  server.addContentTypeParser('application/json', { parseAs: 'buffer' }, (request, body: Buffer, done) => {
    const charset = CHARSET.exec(request.headers['content-type'] ?? '')?.[1] ?? 'utf-8';
    if (/^utf-?8$/i.test(charset)) return readInto(request, body, done);
    done(new Problem('unsupported_content_type', 'The body must be sent in UTF-8.'));
  });
  server.addContentTypeParser('*', { parseAs: 'buffer' }, (request, body: Buffer, done) => {
    const type = request.headers['content-type'];
    if (type === undefined || type === '') return readInto(request, body, done);
    done(new Problem('unsupported_content_type', 'The body must be sent as application/json.'));
  });
}

type Done = (error: Error | null, value?: unknown) => void;

/** A larger body keeps the event loop busy for a millisecond or more, so it gets a turn of its own. */
const MAX_BYTES_AT_ONCE = 16 * 1024;

function readInto({ caller }: FastifyRequest, body: Buffer, done: Done): void {
  if (body.length <= MAX_BYTES_AT_ONCE) parseInto(body, done);
  else void nextTurn(caller?.accountId).then(() => parseInto(body, done));
}

/** An empty body is no error here: clients send a JSON content type on GET and DELETE as well. */
function parseInto(body: Buffer, done: Done): void {
  try {
    done(null, body.length === 0 ? undefined : parseJsonBody(body));
  } catch (error) {
    done(error as Error);
  }
}

/** X-Forwarded-Proto may hold any text, and the scheme appears in answers. */
const schemeOf = (request: FastifyRequest): string => (request.protocol === 'https' ? 'https' : 'http');

const HOST = /^[A-Za-z0-9._-]+(:\d{1,5})?$|^\[[0-9A-Fa-f:.]+\](:\d{1,5})?$/;

/** The Host header if it is valid, else the address that the service listens on: the host appears in answers. */
function hostOf(request: FastifyRequest): string {
  if (HOST.test(request.host)) return request.host;
  const { localAddress = '127.0.0.1', localPort = 80 } = request.socket;
  return `${localAddress.includes(':') ? `[${localAddress}]` : localAddress}:${localPort}`;
}
