import type { FastifyInstance } from 'fastify';
import { Counter, Histogram, type Registry } from 'prom-client';

/** In seconds: from a read of one row to the deadline of a change. */
const BUCKETS_SECONDS = [0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10, 20];

/** Paths and methods that have no route share one label: strangers choose them, so they have no bound. */
const NO_ROUTE = { method: 'any', route: 'none' };

/** Counts and times each answer, under the pattern of its route: ids would make a time series for each entity. */
export function measureRequests(server: FastifyInstance, registry: Registry): void {
  const registers = [registry];
  const requests = new Counter({
    name: 'tunnel_access_http_requests_total',
    help: 'Answered requests, by method, route and status.',
    labelNames: ['method', 'route', 'status'],
    registers,
  });
  const seconds = new Histogram({
    name: 'tunnel_access_http_request_seconds',
    help: 'Seconds from a request to the end of its answer, by method and route.',
    labelNames: ['method', 'route'],
    buckets: BUCKETS_SECONDS,
    registers,
  });
  server.addHook('onResponse', (request, reply, done) => {
    const { url } = request.routeOptions;
    const { method, route } = url === undefined || request.is404 ? NO_ROUTE : { method: request.method, route: url };
    requests.inc({ method, route, status: reply.statusCode });
    seconds.observe({ method, route }, reply.elapsedTime / 1000);
    done();
  });
}
