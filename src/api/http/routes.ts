import type { FastifyInstance } from 'fastify';
import { isSafeMethod } from './preconditions.js';

declare module 'fastify' {
  interface FastifyContextConfig {
    /** True: this route needs no authentication. By default a route needs an API key. */
    isPublic?: boolean;
    /** True: this route changes nothing, although it is not a GET. Auditors may call it. */
    onlyReads?: boolean;
    /** True: this route serves SSH gateways only, which authenticate with a gateway token. */
    isForGateways?: boolean;
    /** True: this route serves Prometheus only, which authenticates with the metrics token. */
    isForMetrics?: boolean;
    /** True: this route enrols devices, which authenticate with an enrollment key. */
    isForEnrollment?: boolean;
    /** True: any body is ignored. An official client sends the bare id of its path, which is not JSON. */
    ignoresBody?: boolean;
  }
}

/** A registered route, for example `{ method: 'GET', path: '/ssh_credentials/:id' }`. */
export interface Route {
  readonly method: string;
  readonly path: string;
  readonly isPublic: boolean;
  readonly isForGateways: boolean;
  /** It changes nothing, so auditors may call it. */
  readonly onlyReads: boolean;
}

/** The returned list holds the routes once the application listens. */
export function collectRoutes(server: FastifyInstance): readonly Route[] {
  const routes: Route[] = [];
  server.addHook('onRoute', ({ method, url, config }) => {
    const [isPublic, isForGateways] = [config?.isPublic === true, config?.isForGateways === true];
    for (const one of [method].flat()) {
      const onlyReads = isSafeMethod(one) || config?.onlyReads === true;
      routes.push({ method: one, path: url, isPublic, isForGateways, onlyReads });
    }
  });
  return routes;
}
