import { addressText, parseAddress } from '../../../rules/index.js';
import { WindowCounter } from '../../instance/window-counter.js';

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

/**
 * The source of an address: the address itself for IPv4, its /64 for IPv6, since a customer gets at least a whole /64.
 */
export function sourceOf(text: string): string {
  const [withoutZone = ''] = text.split('%');
  const address = parseAddress(withoutZone);
  if (address === undefined) return 'unknown';
  // A dual-stack socket reports IPv4 as `::ffff:192.0.2.1`. As a /64, all of IPv4 would be one source.
  if (address.bits === 32) return addressText(address);
  const groups = [112n, 96n, 80n, 64n].map((shift) => ((address.value >> shift) & 0xffffn).toString(16));
  return `${groups.join(':')}::/64`;
}
