import { createParamDecorator, type ExecutionContext } from '@nestjs/common';
import type { FastifyRequest } from 'fastify';
import type { Caller } from '../caller.js';
import { callerOf } from '../http/request-context.js';

/** A GET: its caller, its query, and the base of the URIs in its answer. */
export interface ReadRequest {
  readonly caller: Caller;
  readonly baseUrl: string;
  readonly query: Readonly<Record<string, unknown>>;
}

/** Parameter decorator: the ReadRequest of the request being served. */
export const Read = createParamDecorator((_: unknown, context: ExecutionContext): ReadRequest => {
  const request = context.switchToHttp().getRequest<FastifyRequest>();
  return { caller: callerOf(request), baseUrl: request.baseUrl, query: request.query as Record<string, unknown> };
});
