import type { FastifyRequest } from 'fastify';
import type { Caller } from '../caller.js';

/** The token of an SSH gateway, or that of Prometheus. */
export type DeploymentToken = 'gateway token' | 'metrics token';

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

  /** Throws Problem unless the request has this token of the deployment. */
  abstract authenticateProgram(request: FastifyRequest, token: DeploymentToken): Promise<void>;
}
