import type { CanActivate, ExecutionContext } from '@nestjs/common';
import type { FastifyRequest } from 'fastify';
import { malformed, type Problem, quoted } from '../problem.js';
import { type QueryOfRoute, type QueryParameter, queryOf } from './documentation.js';

/** A route that ignored one of these would answer another question than the one that it was asked. */
const NEVER_IGNORED: ReadonlySet<string> = new Set(['as_of', 'filter']);

/**
 * Refuses a query that would mislead its sender: a parameter that the route cannot honour, or that is given twice. It
 * runs after the authentication and before the route.
 */
export class QueryGuard implements CanActivate {
  /** `strict`: no route for callers ignores an unknown parameter. */
  constructor(private readonly strict: boolean) {}

  canActivate(context: ExecutionContext): true {
    const { query, caller, routeOptions } = context.switchToHttp().getRequest<FastifyRequest>();
    const sent = Object.entries(query as Readonly<Record<string, unknown>>);
    // A load balancer may add any parameter to its probes.
    if (sent.length === 0 || routeOptions.config.isPublic === true) return true;
    const route = queryOf(context.getHandler());
    const refusesUnknown = route.refusesUnknown || (this.strict && caller !== undefined);
    for (const [name, value] of sent) {
      const isTaken = route.parameters.some(({ spellings }) => spellings.includes(name));
      if (!isTaken && !isIgnored(name, value, refusesUnknown)) throw notTaken(name, route);
    }
    for (const parameter of route.parameters) refuseRepeatedOrEmpty(parameter, sent);
    return true;
  }
}

/** An empty `filter` selects everything, and clients of the public API may send it. */
const isIgnored = (name: string, value: unknown, refusesUnknown: boolean): boolean =>
  name === 'filter' ? value === '' : !refusesUnknown && !NEVER_IGNORED.has(name);

function notTaken(name: string, { parameters }: QueryOfRoute): Problem {
  const names = parameters.map(({ spellings }) => spellings[0]).join(', ');
  const taken = names === '' ? 'takes no query parameters' : `takes ${names}`;
  return malformed(`This route has no query parameter ${quoted(name)}; it ${taken}.`);
}

/** An empty value mostly comes from a variable that is not set, and would select everything. */
function refuseRepeatedOrEmpty(
  { spellings, mayBeEmpty }: QueryParameter,
  sent: readonly (readonly [name: string, value: unknown])[],
): void {
  const values = sent.filter(([name]) => spellings.includes(name)).flatMap(([, value]) => value);
  if (values.length > 1) throw malformed(`${spellings[0]} is given ${values.length} times; give it once.`);
  if (values[0] === '' && !mayBeEmpty) throw malformed(`${spellings[0]} is empty; give it a value, or leave it out.`);
}
