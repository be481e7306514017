import { isIP } from 'node:net';
import { createParamDecorator, type ExecutionContext } from '@nestjs/common';
import type { FastifyRequest } from 'fastify';
import type { Caller } from '../caller.js';
import type { EventMetadata } from '../log/event.js';
import { readIdempotencyKey, readIfMatch } from './preconditions.js';

declare module 'fastify' {
  interface FastifyRequest {
    /** Set by authentication on every route that is not public. */
    caller: Caller | undefined;
    /** Scheme and host in front of every `uri` in the answer. */
    baseUrl: string;
  }
  interface FastifyContextConfig {
    /** True: this route answers everyone. Everything else is closed by default, to who has no API key. */
    isPublic?: boolean;
    /** True: this route answers SSH gateways, who show a token of the deployment, and nobody else. */
    isForGateways?: boolean;
  }
}

/** On whose behalf a change is made. */
export interface ChangeContext {
  readonly accountId: string;
  /** What the events of the change say of the caller. */
  readonly metadata: EventMetadata;
  /** Whether If-Match names this version of the entity; absent without the header. */
  readonly ifMatch?: (version: number) => boolean;
}

/** What a handler needs to know of the request that it serves. */
export interface RequestContext extends ChangeContext {
  readonly caller: Caller;
}

const MAX_USER_AGENT_CHARACTERS = 256;

/** Throws on a route that answers without authentication. */
export function callerOf({ caller, method, routeOptions }: FastifyRequest): Caller {
  if (caller === undefined) throw new Error(`${method} ${routeOptions.url} has no authenticated caller`);
  return caller;
}

export function requestContextOf(request: FastifyRequest): RequestContext {
  const caller = callerOf(request);
  return { caller, accountId: caller.accountId, metadata: metadataOf(request, caller), ...readIfMatch(request) };
}

const metadataOf = (request: FastifyRequest, caller: Caller): EventMetadata => ({
  actor: caller.principalId,
  ...(caller.apiKeyId !== undefined && { api_key_id: caller.apiKeyId }),
  ...(caller.tokenId !== undefined && { token_id: caller.tokenId }),
  ...originOf(request),
  ...readIdempotencyKey(request),
});

/** Where a request came from: the part of an event's metadata that does not depend on who sent it. */
export function originOf(request: FastifyRequest): Omit<EventMetadata, 'actor'> {
  const userAgent = request.headers['user-agent'];
  return {
    ip: ipOf(request),
    ...(userAgent !== undefined && { user_agent: userAgent.slice(0, MAX_USER_AGENT_CHARACTERS) }),
    operation_id: request.id,
  };
}

/** The caller's address; the proxy's own when what it forwards is no address, since that may be any text. */
export const ipOf = (request: FastifyRequest): string =>
  isIP(request.ip) === 0 ? (request.socket.remoteAddress ?? '') : request.ip;

/** Parameter decorator: the RequestContext of the request being served. */
export const Context = createParamDecorator(
  (_: unknown, context: ExecutionContext): RequestContext =>
    requestContextOf(context.switchToHttp().getRequest<FastifyRequest>()),
);
