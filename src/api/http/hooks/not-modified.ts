import type { onSendHookHandler } from 'fastify';
import { isSafeMethod, matchesIfNoneMatch } from '../preconditions.js';

/** Answers 304 if the caller already has this representation. */
export const notModified: onSendHookHandler = (request, reply, payload, done) => {
  const isFound = reply.statusCode === 200 && isSafeMethod(request.method);
  if (!isFound || !matchesIfNoneMatch(request, reply.getHeader('etag'))) return done(null, payload);
  void reply.code(304).removeHeader('content-length').removeHeader('content-type');
  // Fastify takes the length of a HEAD's body and then drops the body itself.
  done(null, request.method === 'HEAD' ? payload : null);
};
