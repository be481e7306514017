import type { FastifyRequest, preHandlerHookHandler } from 'fastify';
import { editDistance } from '../../../kernel/edit-distance.js';
import { malformed, type Problem, quoted } from '../../../kernel/problem.js';
import type { QueryOfRoute, QueryParameter } from '../documentation.js';

/** A route that ignored one of these would answer another question than the one that it was asked. */
const NEVER_IGNORED: ReadonlySet<string> = new Set(['as_of', 'filter']);

const NO_QUERY: QueryOfRoute = { parameters: [], refusesUnknown: false };

type Sent = readonly (readonly [name: string, value: unknown])[];

/**
 * Refuses a query that would mislead its sender: with a parameter that the route cannot honour, or that is given twice.
 * `strict`: no route for callers ignores an unknown parameter.
 */
export const checkQuery =
  (strict: boolean): preHandlerHookHandler =>
  (request, _reply, done) =>
    done(problemOf(request, strict));

function problemOf({ query, caller, routeOptions }: FastifyRequest, strict: boolean): Problem | undefined {
  const sent = Object.entries(query as Readonly<Record<string, unknown>>);
  const { isPublic, query: route = NO_QUERY } = routeOptions.config;
  // A load balancer may add any parameter to its probes.
  if (sent.length === 0 || isPublic === true) return undefined;
  const refusesUnknown = route.refusesUnknown || (strict && caller !== undefined);
  for (const [name, value] of sent) {
    const isTaken = route.parameters.some(({ spellings }) => spellings.includes(name));
    if (!isTaken && readsLikeFilter(route, name)) return noFilter(name, route);
    if (!isTaken && !isIgnored(name, value, refusesUnknown)) return notTaken(name, route);
  }
  for (const parameter of route.parameters) {
    const problem = repeatedOrEmpty(parameter, sent);
    if (problem !== undefined) return problem;
  }
  return undefined;
}

/** An empty `filter` selects everything, and clients of the public API may send it. */
const isIgnored = (name: string, value: unknown, refusesUnknown: boolean): boolean =>
  name === 'filter' ? value === '' : !refusesUnknown && !NEVER_IGNORED.has(name);

function notTaken(name: string, { parameters }: QueryOfRoute): Problem {
  const names = parameters.map(({ spellings }) => spellings[0]).join(', ');
  const taken = names === '' ? 'takes no query parameters' : `takes ${names}`;
  return malformed(`This route has no query parameter ${quoted(name)}; it ${taken}.`);
}

/** A caller who sends one of these to a list believes that it filters, even if the items have no such field. */
const FIELDS_OF_MOST: ReadonlySet<string> = new Set(['id', 'description', 'metadata', 'name', 'owner_id']);

/** Words by which other APIs filter or order their lists. */
const WORDS_OF_OTHERS: ReadonlySet<string> = new Set([
  ...['q', 'search', 'query', 'order', 'sort', 'label', 'tunnel', 'key_type'],
]);
/** The parameters of all lists: who sends one to another list, or misspells it, would get everything. */
export const PARAMETERS_OF_LISTS: readonly string[] = [
  ...['limit', 'before_id', 'after', 'as_of', 'since', 'until', 'stream', 'type', 'actor', 'host', 'online', 'include'],
  ...['fingerprint', 'owner_id', 'credential_id', 'edge_id', 'gateway_name', 'expiring_before', 'last_seen_before'],
  ...['ended_after', 'ended_before', 'allowed', 'reason', 'target', 'ip_policy_id', 'text', 'permits'],
];
const MAX_EDITS = 2;

function readsLikeFilter({ itemFields }: QueryOfRoute, name: string): boolean {
  if (itemFields === undefined || NEVER_IGNORED.has(name)) return false;
  return (
    itemFields.has(name) ||
    FIELDS_OF_MOST.has(name) ||
    WORDS_OF_OTHERS.has(name) ||
    PARAMETERS_OF_LISTS.some((one) => isNear(name, one))
  );
}

/** The lengths are compared first, since a name can be as long as a URL. */
const isNear = (name: string, other: string): boolean =>
  Math.abs(name.length - other.length) <= MAX_EDITS && editDistance(name, other) <= MAX_EDITS;

/** The parameters that select no items. */
const SELECT_NOTHING: readonly string[] = ['limit', 'before_id', 'as_of', 'include'];

function noFilter(name: string, { parameters }: QueryOfRoute): Problem {
  const names = parameters.map(({ spellings: [first = ''] }) => first).filter((one) => !SELECT_NOTHING.includes(one));
  const filters = names.length === 0 ? 'it has no filters' : `its filters are ${names.join(', ')}`;
  return malformed(`This list has no filter ${quoted(name)}; ${filters}.`);
}

/** An empty value mostly comes from a variable that is not set, and would select everything. */
function repeatedOrEmpty({ spellings, mayBeEmpty }: QueryParameter, sent: Sent): Problem | undefined {
  const values = sent.filter(([name]) => spellings.includes(name)).flatMap(([, value]) => value);
  if (values.length > 1) return malformed(`${spellings[0]} is given ${values.length} times; give it once.`);
  if (values[0] !== '' || mayBeEmpty) return undefined;
  return malformed(`${spellings[0]} is empty; give it a value, or leave it out.`);
}
