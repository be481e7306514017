import { isIP } from 'node:net';
import { createParamDecorator, type ExecutionContext } from '@nestjs/common';
import type { FastifyReply, FastifyRequest } from 'fastify';
import type { EventMetadata } from '../../event-log/index.js';
import type { Caller, Gateway } from '../../kernel/caller.js';
import { Problem } from '../../kernel/problem.js';
import { readIdempotencyKey, readIfMatch, readTraceId } from './preconditions.js';

/** On whose behalf a change is made. */
export interface ChangeContext {
  readonly accountId: string;
  /** Metadata of the change's events. */
  readonly metadata: EventMetadata;
  /** The last change of rights that the caller's authentication has seen. Absent: the service itself, or its operator. */
  readonly rightsPosition?: number;
  /** Time of performance.now() until which the change waits for a database that is away. Absent: the log decides. */
  readonly deadline?: number;
  /** The same with the caller authenticated again. Throws Problem. */
  renewed?(): Promise<this>;
  /** Whether If-Match allows a change of this version; absent: any version. */
  readonly ifMatch?: (version: number) => boolean;
}

/** The part of a request that a command handler needs. */
export interface RequestContext extends ChangeContext {
  readonly caller: Caller;
}

/** A GET: its caller, its query, and the base of the URIs in its answer. */
export interface ReadRequest {
  readonly caller: Caller;
  readonly baseUrl: string;
  readonly query: Readonly<Record<string, unknown>>;
  /** Aborts when the client goes away before the answer. Only a read that can take long needs it. */
  readonly signal: AbortSignal;
}

const MAX_USER_AGENT_CHARACTERS = 256;

/** Throws on a route that answers without authentication. */
export function callerOf({ caller, method, routeOptions }: FastifyRequest): Caller {
  if (caller === undefined) throw new Error(`${method} ${routeOptions.url} has no authenticated caller`);
  return caller;
}

/** Throws on a route that does not serve gateways. */
export function gatewayOf({ gateway, method, routeOptions }: FastifyRequest): Gateway {
  if (gateway === undefined) throw new Error(`${method} ${routeOptions.url} has no authenticated gateway`);
  return gateway;
}

/** Called once the body has arrived. The deadline begins here, so the upload does not use up the wait. */
function requestContextOf(
  request: FastifyRequest,
  deadline = performance.now() + request.remainingWaitMs,
): RequestContext {
  const caller = callerOf(request);
  // Without a position, every change of rights is unknown to the caller.
  const { accountId, rightsPosition = 0 } = caller;
  const renewed = async () => {
    await request.setCaller(deadline);
    return requestContextOf(request, deadline);
  };
  const metadata = metadataOf(request, caller);
  return { caller, accountId, rightsPosition, deadline, renewed, metadata, ...readIfMatch(request) };
}

const metadataOf = (request: FastifyRequest, caller: Caller): EventMetadata => ({
  actor: caller.principalId,
  ...(caller.apiKeyId !== undefined && { api_key_id: caller.apiKeyId }),
  ...(caller.tokenId !== undefined && { token_id: caller.tokenId }),
  ...originOf(request),
  ...readIdempotencyKey(request),
});

/** Origin of a request: the part of an event's metadata that does not depend on the caller. */
export function originOf(request: FastifyRequest): Omit<EventMetadata, 'actor'> {
  const userAgent = request.headers['user-agent'];
  const traceId = readTraceId(request);
  return {
    ip: ipOf(request),
    ...(userAgent !== undefined && { user_agent: userAgent.slice(0, MAX_USER_AGENT_CHARACTERS) }),
    operation_id: request.id,
    ...(traceId !== undefined && { correlation_id: traceId }),
  };
}

/**
 * The caller's address. X-Forwarded-For may hold any text; if it holds no address, this is the address of the proxy.
 */
export const ipOf = (request: FastifyRequest): string =>
  isIP(request.ip) === 0 ? (request.socket.remoteAddress ?? '') : request.ip;

/** Parameter decorator: the RequestContext of the current request. */
export const Context = createParamDecorator(
  (_: unknown, context: ExecutionContext): RequestContext =>
    requestContextOf(context.switchToHttp().getRequest<FastifyRequest>()),
);

/** Aborts when the client goes away. Fastify's own signal misses a client that went away before it was asked for. */
export const signalOf = (request: FastifyRequest): AbortSignal =>
  request.raw.destroyed ? AbortSignal.abort() : request.signal;

/** Parameter decorator: the ReadRequest of the current request. */
export const Read = createParamDecorator((_: unknown, context: ExecutionContext): ReadRequest => {
  const http = context.switchToHttp();
  return new HttpRead(http.getRequest<FastifyRequest>(), http.getResponse<FastifyReply>());
});

/** Aborts when the connection closes, or if it is closed already. The signal of a request aborts after its body too. */
export function connectionOf({ raw }: FastifyReply): AbortSignal {
  if (raw.destroyed) return AbortSignal.abort();
  const connection = new AbortController();
  raw.once('close', () => connection.abort(new Problem('overloaded', 'The client closed the connection.')));
  return connection.signal;
}

/** Reads each part of the request when a route asks for it. */
class HttpRead implements ReadRequest {
  readonly caller: Caller;

  constructor(
    private readonly request: FastifyRequest,
    private readonly reply: FastifyReply,
  ) {
    this.caller = callerOf(request);
  }

  get baseUrl() {
    return this.request.baseUrl;
  }

  get query() {
    return this.request.query as Record<string, unknown>;
  }

  get signal() {
    return connectionOf(this.reply);
  }
}
