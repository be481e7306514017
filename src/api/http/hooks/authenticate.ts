import type { onRequestAsyncHookHandler } from 'fastify';
import type { Authenticator } from '../authenticator.js';

/**
 * Runs before the body is read, so that an unauthenticated client cannot make the service parse one. A route is closed
 * unless it declares itself public.
 */
export const authenticate =
  (authenticator: Authenticator, writeDeadlineMs: number): onRequestAsyncHookHandler =>
  async (request, reply) => {
    const { isPublic, isForGateways, isForMetrics } = request.routeOptions.config;
    if (isPublic === true) {
      // A cache may keep a public answer but must revalidate it: it changes with the next version of the service.
      void reply.header('cache-control', 'no-cache');
    } else if (isForGateways === true) {
      request.gateway = await authenticator.authenticateGateway(request);
    } else if (isForMetrics === true) {
      await authenticator.authenticateMetrics(request);
    } else {
      const deadline = request.receivedAt + writeDeadlineMs;
      await request.setCaller(deadline);
      request.remainingWaitMs = deadline - performance.now();
    }
  };
