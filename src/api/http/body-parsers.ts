import type { FastifyInstance, FastifyRequest } from 'fastify';
import { eventLoop } from '../../kernel/event-loop.js';
import { Problem } from '../../kernel/problem.js';
import { parseJsonBody } from './json-body.js';

/** JSON escapes can make a traffic policy of 256 KiB six times as long. */
export const BODY_LIMIT_BYTES = 2 * 1024 * 1024;

/** A larger body keeps the event loop busy for a millisecond or more, so it waits for those of others. */
const MAX_BYTES_AT_ONCE = 16 * 1024;

const CHARSET = /;\s*charset\s*=\s*"?([^\s;"]*)/i;

/** A body without a content type is parsed as JSON; any type but JSON is refused. */
export function parseBodies(server: FastifyInstance): void {
  server.removeAllContentTypeParsers();
  server.addContentTypeParser('application/json', { parseAs: 'buffer' }, parseJson);
  server.addContentTypeParser('*', { parseAs: 'buffer' }, parseUntyped);
}

async function parseJson(request: FastifyRequest, body: Buffer): Promise<unknown> {
  if (request.routeOptions.config.ignoresBody === true) return undefined;
  const charset = CHARSET.exec(request.headers['content-type'] ?? '')?.[1] ?? 'utf-8';
  if (!/^utf-?8$/i.test(charset)) throw new Problem('unsupported_content_type', 'The body must be sent in UTF-8.');
  return parse(request, body);
}

async function parseUntyped(request: FastifyRequest, body: Buffer): Promise<unknown> {
  if (request.routeOptions.config.ignoresBody === true) return undefined;
  const { 'content-type': type = '' } = request.headers;
  if (type !== '') throw new Problem('unsupported_content_type', 'The body must be sent as application/json.');
  return parse(request, body);
}

/** An empty body is not an error here: clients send a JSON content type on GET and DELETE as well. */
async function parse({ caller }: FastifyRequest, body: Buffer): Promise<unknown> {
  if (body.length === 0) return undefined;
  if (body.length <= MAX_BYTES_AT_ONCE) return parseJsonBody(body);
  return eventLoop.run([caller?.accountId ?? 'gateways'], () => parseJsonBody(body));
}
