import type { FastifyRequest } from 'fastify';
import type { Caller } from '../caller.js';

/** Finds out who calls. What stands on it: the hook before every route, and what goes on after its request was let in. */
export abstract class Authenticator {
  /** Throws Problem. */
  abstract authenticate(request: FastifyRequest): Promise<Caller>;

  /** Whether the request would be let in now as the same principal in the same role. Unknown, without a database: then yes. */
  abstract isStill(request: FastifyRequest, caller: Caller): Promise<boolean>;
  /** Throws Problem unless the request comes from an SSH gateway. */
  abstract authenticateGateway(request: FastifyRequest): Promise<void>;
}
