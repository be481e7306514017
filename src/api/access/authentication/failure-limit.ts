import { WindowCounter } from '../../../kernel/window-counter.js';

/**
 * Maximum number of sources kept, about 2 MB; a further one replaces the source with the oldest window. A limit per
 * address does not stop an attacker with that many addresses anyway: the 192 random bits of a key do.
 */
const MAX_SOURCES = 10_000;

/** A failure beyond the limit. */
export interface Excess {
  /** Seconds until the window of the source ends. */
  readonly retryAfterSeconds: number;
  /** True once in a window, for one log line. */
  readonly isFirst: boolean;
}

/** Counts failed authentications by source. Successes do not count, so that a valid key always works. */
export class FailureLimit {
  /** `maxPerMinute` 0: no limit. */
  constructor(
    readonly maxPerMinute: number,
    private readonly counter = new WindowCounter(MAX_SOURCES),
  ) {}

  /** Counts one failure of `source`. Undefined within the limit. */
  count(source: string): Excess | undefined {
    if (this.maxPerMinute === 0) return undefined;
    const { count, endsInSeconds } = this.counter.count(source);
    if (count <= this.maxPerMinute) return undefined;
    return { retryAfterSeconds: endsInSeconds, isFirst: count === this.maxPerMinute + 1 };
  }
}
