import type { onRequestHookHandler } from 'fastify';
import { protocolProblemOf } from '../connections/protocol.js';
import type { standardHeaders } from '../headers.js';
import { dropForwardedPorts } from '../trusted-proxies.js';

/** Gives each request its time and each answer its headers. Refuses what the service does not speak. */
export const identify =
  (headersOf: ReturnType<typeof standardHeaders>): onRequestHookHandler =>
  (request, reply, done) => {
    request.receivedAt = performance.now();
    dropForwardedPorts(request.raw.headers);
    void reply.headers(headersOf(request.id, request.headers.origin));
    const problem = protocolProblemOf(request.raw);
    // What follows on this connection may be part of the same request for a proxy in front.
    if (problem !== undefined) void reply.header('connection', 'close');
    done(problem);
  };
