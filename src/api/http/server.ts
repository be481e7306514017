import type { Server } from 'node:http';
import type { NestFastifyApplication } from '@nestjs/platform-fastify';
import type { FastifyHttpOptions, FastifyInstance, FastifyReply } from 'fastify';
import type { IdSource } from '../../kernel/ids.js';
import type { Authenticator } from './authenticator.js';
import { BODY_LIMIT_BYTES, parseBodies } from './body-parsers.js';
import { HttpConnections } from './connections/connections.js';
import { standardHeaders } from './headers.js';
import { admitBody } from './hooks/admit-body.js';
import { answerUnrouted } from './hooks/answer-unrouted.js';
import { authenticate } from './hooks/authenticate.js';
import { checkQuery } from './hooks/check-query.js';
import { compress } from './hooks/compress.js';
import { limitRequests, type RequestLimiter } from './hooks/limit-requests.js';
import { logAnswer } from './hooks/log-answer.js';
import { notModified } from './hooks/not-modified.js';
import { prepareRequest } from './hooks/prepare-request.js';
import { renderAnswer } from './hooks/render-answer.js';
import type { HttpOptions } from './http-options.js';
import type { RequestLog } from './logging/request-log.js';
import { ProblemFilter, sendProblem, toProblem } from './problem.filter.js';
import { decorateRequests } from './request.js';
import { collectRoutes, type Route } from './routes.js';
import { leaveConnections, type StopNotice } from './stop-notice.js';
import { TIMEOUTS, type Timeouts } from './timeouts.js';
import { dropForwardedPorts } from './trusted-proxies.js';

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
    // The listeners of HttpConnections answer these.
    clientErrorHandler: () => undefined,
  };
}

/** What the server needs besides its settings. */
interface ServerParts {
  readonly ids: IdSource;
  readonly config: HttpOptions;
  readonly requestLog: RequestLog;
  readonly authentication: Authenticator;
  /** Called with the reason of each failed request. */
  readonly failed: (error: unknown) => void;
  /** Counts the requests of each caller; absent: no limit. */
  readonly requestLimits?: RequestLimiter | undefined;
  readonly stopNotice: StopNotice;
}

/**
 * Adds what all routes share, and returns a list that holds the routes once the application listens. A request passes
 * the hooks in the order of their list. A hook that waits for nothing calls `done`, so that its refusal is sent in the
 * same turn, before the body is parsed.
 */
export function serveHttp(
  nest: NestFastifyApplication,
  { ids, config, requestLog, authentication, failed, requestLimits, stopNotice }: ServerParts,
): readonly Route[] {
  const server = nest.getHttpAdapter().getInstance() as unknown as FastifyInstance;
  const headersOf = standardHeaders(config);
  const connections = new HttpConnections(ids, headersOf, requestLog);
  const routes = collectRoutes(server);
  connections.watch(server.server);
  decorateRequests(server, authentication, config);
  parseBodies(server);
  nest.useGlobalFilters(new ProblemFilter(failed));
  server.addHook('onRequest', prepareRequest(headersOf));
  server.addHook('onRequest', answerUnrouted(routes));
  server.addHook('onRequest', authenticate(authentication, config.writeDeadlineMs));
  server.addHook('onRequest', limitRequests(requestLimits));
  server.addHook('preParsing', admitBody(connections));
  server.addHook('preHandler', checkQuery(config.strict));
  server.addHook('preSerialization', renderAnswer);
  server.addHook('onSend', notModified);
  server.addHook('onSend', compress);
  server.addHook('onSend', logAnswer(requestLog));
  server.addHook('onSend', leaveConnections(stopNotice));
  return routes;
}
