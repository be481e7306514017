import { createParamDecorator, type ExecutionContext } from '@nestjs/common';
import type { FastifyRequest } from 'fastify';
import type { Caller } from '../caller.js';
import type { EventMetadata } from '../event-log/event.js';

declare module 'fastify' {
  interface FastifyRequest {
    /** Set by authentication on every route that is not public. */
    caller: Caller | undefined;
    /** Scheme and host in front of every `uri` in the answer. */
    baseUrl: string;
  }
  interface FastifyContextConfig {
    /** True: this route answers without an API key. Everything else is closed by default. */
    isPublic?: boolean;
  }
}

/** What a handler needs to know of the request it serves. */
export interface RequestContext {
  readonly caller: Caller;
  readonly baseUrl: string;
  readonly metadata: EventMetadata;
}

const MAX_USER_AGENT_CHARACTERS = 256;

export function requestContextOf(request: FastifyRequest): RequestContext {
  const { caller } = request;
  if (caller === undefined)
    throw new Error(`${request.method} ${request.routeOptions.url} has no authenticated caller`);
  const userAgent = request.headers['user-agent'];
  return {
    caller,
    baseUrl: request.baseUrl,
    metadata: {
      actor: caller.principalId,
      api_key_id: caller.apiKeyId,
      ip: request.ip,
      ...(userAgent !== undefined && { user_agent: userAgent.slice(0, MAX_USER_AGENT_CHARACTERS) }),
      operation_id: request.id,
    },
  };
}

/** Parameter decorator: the RequestContext of the request being served. */
export const Context = createParamDecorator(
  (_: unknown, context: ExecutionContext): RequestContext =>
    requestContextOf(context.switchToHttp().getRequest<FastifyRequest>()),
);
