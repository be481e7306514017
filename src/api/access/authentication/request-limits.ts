import type { Caller } from '../../../kernel/caller.js';
import { Problem } from '../../../kernel/problem.js';
import { type Counted, WINDOW_MS, WindowCounter } from '../../../kernel/window-counter.js';

type RequestLimitSettings = Readonly<Record<'keyRequestsPerMinute' | 'accountRequestsPerMinute', number>>;

/** About 20 MB. An instance that serves more keys in a minute forgets the count of the oldest window. */
const MAX_NAMES = 100_000;

interface Limit {
  readonly policy: 'key' | 'account';
  readonly maxPerMinute: number;
  readonly idOf: (caller: Caller) => string;
  readonly counter: WindowCounter;
}

interface Admission {
  /** Headers of the answer (draft-ietf-httpapi-ratelimit-headers). */
  readonly headers: Readonly<Record<string, string>>;
  /** Present beyond a limit: the answer. */
  readonly refusal?: Problem;
}

/** Counts the requests of authenticated callers. Each instance of the service counts for itself. */
export class RequestLimits {
  private readonly limits: readonly Limit[];
  private readonly policies: string;

  constructor(
    { keyRequestsPerMinute, accountRequestsPerMinute }: RequestLimitSettings,
    private readonly warn: (line: string) => void,
  ) {
    const limitOf = (policy: Limit['policy'], maxPerMinute: number, idOf: Limit['idOf']): Limit[] =>
      maxPerMinute === 0 ? [] : [{ policy, maxPerMinute, idOf, counter: new WindowCounter(MAX_NAMES) }];
    this.limits = [
      ...limitOf('key', keyRequestsPerMinute, ({ apiKeyId, principalId }) => apiKeyId ?? principalId),
      ...limitOf('account', accountRequestsPerMinute, ({ accountId }) => accountId),
    ];
    this.policies = this.limits
      .map(({ policy, maxPerMinute }) => `"${policy}";q=${maxPerMinute};w=${WINDOW_MS / 1000}`)
      .join(', ');
  }

  /** A request beyond the limit of its key does not count for the account: one key cannot use up what others share. */
  admit(caller: Caller): Admission {
    const states: string[] = [];
    for (const limit of this.limits) {
      const counted = limit.counter.count(limit.idOf(caller));
      const remaining = Math.max(0, limit.maxPerMinute - counted.count);
      states.push(`"${limit.policy}";r=${remaining};t=${counted.endsInSeconds}`);
      if (counted.count > limit.maxPerMinute) {
        return { headers: this.headersOf(states), refusal: this.refuse(limit, caller, counted) };
      }
    }
    return { headers: this.headersOf(states) };
  }

  private headersOf(states: readonly string[]): Admission['headers'] {
    return { 'ratelimit-policy': this.policies, ratelimit: states.join(', ') };
  }

  private refuse({ policy, maxPerMinute, idOf }: Limit, caller: Caller, { count, endsInSeconds }: Counted): Problem {
    const excess = `sent more than ${maxPerMinute} requests in a minute`;
    // One line for each window.
    if (count === maxPerMinute + 1) {
      this.warn(`${idOf(caller)} of ${caller.accountId} ${excess}; further ones answer 429 for ${endsInSeconds} s`);
    }
    const subject = policy === 'account' ? 'account' : caller.apiKeyId === undefined ? 'user' : 'API key';
    const message = `This ${subject} ${excess}; try again in ${endsInSeconds} s.`;
    return new Problem('too_many_requests', message, {}, endsInSeconds);
  }
}

/** Undefined if nothing is limited. */
export const requestLimitsOf = (
  settings: RequestLimitSettings,
  warn: (line: string) => void,
): RequestLimits | undefined =>
  settings.keyRequestsPerMinute + settings.accountRequestsPerMinute > 0 ? new RequestLimits(settings, warn) : undefined;
