import type { preSerializationHookHandler } from 'fastify';
import { Answer } from '../answer.js';

/** The one place where an `Answer` becomes headers and a body. */
export const renderAnswer: preSerializationHookHandler = (request, reply, payload, done) => {
  if (!(payload instanceof Answer)) return done(null, payload);
  void reply.headers(payload.headers);
  const { render } = request.routeOptions.config;
  const body = render === undefined ? payload.render(request.baseUrl) : render(payload, request.baseUrl);
  // If the payload were undefined, Fastify would serialize the Answer itself.
  done(null, body ?? null);
};
