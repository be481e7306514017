import type { onRequestHookHandler } from 'fastify';
import { protocolProblemOf } from '../connections/protocol.js';
import type { standardHeaders } from '../headers.js';
import { dropForwardedPorts } from '../trusted-proxies.js';

/** Records when each request arrived, and gives each answer its headers. Refuses what the service does not speak. */
export const prepareRequest =
  (headersOf: ReturnType<typeof standardHeaders>): onRequestHookHandler =>
  (request, reply, done) => {
    request.receivedAt = performance.now();
    dropForwardedPorts(request.raw.headers);
    void reply.headers(headersOf(request.id, request.headers.origin));
    const problem = protocolProblemOf(request.raw);
    // A proxy in front may take the next bytes of this connection for a part of the same request.
    if (problem !== undefined) void reply.header('connection', 'close');
    done(problem);
  };
