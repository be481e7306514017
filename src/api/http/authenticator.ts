import type { FastifyRequest } from 'fastify';
import type { Caller, Gateway } from '../../kernel/caller.js';

/**
 * Authenticates the caller of a request. A hook calls it before every route; a live feed calls it again while it runs.
 */
export abstract class Authenticator {
  /** Throws Problem. */
  abstract authenticate(request: FastifyRequest): Promise<Caller>;

  /**
   * Whether the request would still authenticate as the same principal with the same role. True if the database is
   * away.
   */
  abstract isStillAuthorized(request: FastifyRequest, caller: Caller): Promise<boolean>;

  /** Throws Problem unless the request has the token of a gateway. */
  abstract authenticateGateway(request: FastifyRequest): Promise<Gateway>;

  /** Throws Problem unless the request has the token of Prometheus. */
  abstract authenticateMetrics(request: FastifyRequest): Promise<void>;
}
