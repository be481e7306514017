import { isIPv4, isIPv6 } from 'node:net';
import type { WindowCounter } from '../../workers/windows.js';

/**
 * Maximum number of sources kept, about 2 MB; a further one replaces the source with the oldest window. A limit per
 * address does not stop an attacker with that many addresses anyway: the 192 random bits of a key do.
 */
export const MAX_SOURCES = 10_000;

/** A failure beyond the limit. */
export interface Excess {
  /** Seconds until the window of the source ends. */
  readonly retryAfterSeconds: number;
  /** True once in a window, for one log line. */
  readonly isFirst: boolean;
}

/** Counts failed authentications by source. Successes do not count, so that a valid key always works. */
export class FailureLimit {
  /** `maxPerMinute` 0: no limit. `windows` keeps MAX_SOURCES. */
  constructor(
    readonly maxPerMinute: number,
    private readonly windows: WindowCounter,
  ) {}

  /** Counts one failure of `source`. Undefined within the limit. */
  async count(source: string): Promise<Excess | undefined> {
    if (this.maxPerMinute === 0) return undefined;
    const { count, endsInSeconds } = await this.windows.count(source);
    if (count <= this.maxPerMinute) return undefined;
    return { retryAfterSeconds: endsInSeconds, isFirst: count === this.maxPerMinute + 1 };
  }
}

/**
 * The source of an address: the address itself for IPv4, its /64 for IPv6, since a customer gets at least a whole /64.
 */
export function sourceOf(address: string): string {
  if (isIPv4(address)) return address;
  const [withoutZone = ''] = address.split('%');
  if (!isIPv6(withoutZone)) return 'unknown';
  const groups = groupsOf(withoutZone);
  return mappedIpv4(groups) ?? `${groups.slice(0, 4).join(':')}::/64`;
}

/** The eight groups of an IPv6 address, in hexadecimal without leading zeros. */
function groupsOf(address: string): string[] {
  const canonical = new URL(`http://[${address}]`).hostname.slice(1, -1);
  const [head = [], tail = []] = canonical.split('::').map((part) => part.split(':').filter((group) => group !== ''));
  return [...head, ...Array<string>(8 - head.length - tail.length).fill('0'), ...tail];
}

/** A dual-stack socket reports IPv4 as `::ffff:192.0.2.1`. As a /64, all of IPv4 would be one source. */
function mappedIpv4(groups: readonly string[]): string | undefined {
  if (groups.slice(0, 6).join(':') !== '0:0:0:0:0:ffff') return undefined;
  const bytes = groups.slice(6).flatMap((group) => {
    const value = Number.parseInt(group, 16);
    return [value >> 8, value & 0xff];
  });
  return bytes.join('.');
}
