import type { onRequestHookHandler } from 'fastify';
import type { Caller } from '../../../kernel/caller.js';
import type { Problem } from '../../../kernel/problem.js';

export interface RequestLimiter {
  /** The headers of the answer, and the answer itself beyond a limit. */
  admit(caller: Caller): { readonly headers: Readonly<Record<string, string>>; readonly refusal?: Problem };
}

/** Counts the requests of each authenticated caller. Absent: no limit. */
export const limitRequests =
  (limiter: RequestLimiter | undefined): onRequestHookHandler =>
  ({ caller }, reply, done) => {
    if (limiter === undefined || caller === undefined) return done();
    const { headers, refusal } = limiter.admit(caller);
    void reply.headers(headers);
    done(refusal);
  };
