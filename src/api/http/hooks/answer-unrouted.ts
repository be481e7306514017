import type { onRequestHookHandler } from 'fastify';
import { Problem } from '../../../kernel/problem.js';
import { addPreflightHeaders } from '../cors.js';
import type { Route } from '../routes.js';
import { NearPaths } from './near-path.js';

/** Calls that clients of the public API make, and others try. No id is unknown there, so they are not 404. */
const UNSUPPORTED: readonly (readonly [RegExp, string])[] = [
  [
    /^POST \/+tunnel_sessions\/[^/?]+\/update\b/,
    'This service does not update agents: it does not know their programs. It can stop and restart a session.',
  ],
  [
    /^DELETE \/+reserved_domains\/[^/?]+\/certificate/,
    'This service has no certificates: who ends TLS in front of it has them.',
  ],
  [
    /^(POST|PATCH|PUT|DELETE) .*\/(batch|bulk)\/?(\?|$)/,
    'There are no batches: send one request for each item, several at once.',
  ],
];

/**
 * Answers requests that match no route, since the router's own answer would read the body first. It lists the path's
 * methods in `Allow`, answers OPTIONS of a known path, and refuses everything else. A preflight of an allowed origin is
 * answered on any path, so that the page can read the 404.
 */
export function answerUnrouted(routes: readonly Route[]): onRequestHookHandler {
  // The routes are known at the first request, not before.
  let paths: NearPaths | undefined;
  return (request, reply, done) => {
    if (!request.is404) return done();
    const { method, url } = request;
    const methods = methodsOf(url, routes);
    const isKnown = methods.length > 0;
    const allow = [...methods, 'OPTIONS'].join(', ');
    if (isKnown) void reply.header('allow', allow);
    if (method === 'OPTIONS' && (addPreflightHeaders(request, reply) || isKnown)) return void reply.code(204).send();
    const unsupported = UNSUPPORTED.find(([form]) => form.test(`${method} ${url}`))?.[1];
    if (unsupported !== undefined) return done(new Problem('not_implemented', unsupported));
    if (isKnown) return done(new Problem('not_found', `This path has no method ${method}; it has ${allow}.`));
    paths ??= new NearPaths(routes);
    const near = paths.find(url);
    const way = near === undefined ? 'GET /openapi.json lists all paths' : `a path near it is ${near}`;
    done(new Problem('not_found', `The service has no such path; ${way}.`));
  };
}

function methodsOf(url: string, routes: readonly Route[]): string[] {
  const [path = ''] = url.split('?', 1);
  const segments = segmentsOf(path);
  const matching = routes.filter((route) => matches(segmentsOf(route.path), segments));
  return [...new Set(matching.map(({ method }) => method))].sort();
}

/** The router ignores duplicate and trailing slashes, so this does too. */
const segmentsOf = (path: string): string[] => path.split('/').filter((segment) => segment !== '');

const matches = (pattern: readonly string[], segments: readonly string[]): boolean =>
  (pattern.at(-1) === '*' ? pattern.length <= segments.length : pattern.length === segments.length) &&
  pattern.every((segment, n) => segment === '*' || segment.startsWith(':') || segment === segments[n]);
