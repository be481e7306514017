import type { FastifyInstance, FastifyRequest } from 'fastify';
import { untilReachable } from '../../database/index.js';
import type { Caller, Gateway } from '../../kernel/caller.js';
import type { Authenticator } from './authenticator.js';
import type { HttpOptions } from './http-options.js';
import { isSafeMethod } from './preconditions.js';

declare module 'fastify' {
  interface FastifyRequest {
    /** Authentication sets it on every route that needs an API key. */
    caller: Caller | undefined;
    /** Authentication sets it on every route that serves gateways. */
    gateway: Gateway | undefined;
    /** Authenticates the caller. Throws Problem. A change waits until the deadline for a database that is away. */
    setCaller(deadline: number): Promise<void>;
    /** Time of performance.now() at which its headers had arrived; 0 before any hook has run. */
    receivedAt: number;
    /**
     * How long a change may still wait for a database that is away, after the wait of its authentication. It is a
     * duration and not a time, so that the upload does not use up the wait.
     */
    remainingWaitMs: number;
    /** Prefix of every `uri` in the answer: scheme, host and, with PUBLIC_URL, its path. */
    baseUrl: string;
  }
}

/** Adds to each request what the hooks and the routes know of it. */
export function decorateRequests(
  server: FastifyInstance,
  authenticator: Authenticator,
  { publicUrl }: HttpOptions,
): void {
  server.decorateRequest('caller', undefined);
  server.decorateRequest('gateway', undefined);
  server.decorateRequest('receivedAt', 0);
  server.decorateRequest('remainingWaitMs', 0);
  server.decorateRequest('setCaller', async function (this: FastifyRequest, deadline: number) {
    const lookUp = () => authenticator.authenticate(this);
    // A change that arrives during a failover waits for the end of the failover, like a change that was under way
    // before.
    this.caller = await (isSafeMethod(this.method) ? lookUp() : untilReachable(deadline, lookUp));
  });
  server.decorateRequest('baseUrl', {
    getter(this: FastifyRequest) {
      return publicUrl ?? `${schemeOf(this)}://${hostOf(this)}`;
    },
  });
}

/** X-Forwarded-Proto may hold any text, and the scheme appears in answers. */
const schemeOf = (request: FastifyRequest): string => (request.protocol === 'https' ? 'https' : 'http');

const HOST = /^[A-Za-z0-9._-]+(:\d{1,5})?$|^\[[0-9A-Fa-f:.]+\](:\d{1,5})?$/;

/** `URL` knows what an address is, and that a port is at most 65535. */
const isHost = (host: string): boolean => HOST.test(host) && URL.canParse(`http://${host}`);

/** The Host header if it is valid, else the address that the service listens on: the host appears in answers. */
function hostOf(request: FastifyRequest): string {
  if (isHost(request.host)) return request.host;
  const { localAddress = '127.0.0.1', localPort = 80 } = request.socket;
  return `${localAddress.includes(':') ? `[${localAddress}]` : localAddress}:${localPort}`;
}
