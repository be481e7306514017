import { isIPv4, isIPv6 } from 'node:net';

/** Failures are counted in windows of this length, each source's from its first failure on. */
export const WINDOW_MS = 60_000;

/**
 * Sources remembered at once, about 2 MB; beyond it the one whose window began first is forgotten. Whoever has that many
 * addresses is not held back by a limit per address anyway, and what they guess at has 192 random bits.
 */
export const MAX_SOURCES = 10_000;

interface Window {
  readonly startMs: number;
  failures: number;
}

/** A failure beyond the limit. */
export interface Excess {
  /** Until the source's failures are answered for what they are again. */
  readonly retryAfterSeconds: number;
  /** True once in a window: the moment to tell the operator. */
  readonly isFirst: boolean;
}

/** Counts failed authentications by source. Counts only what failed, so that nobody can lock out a neighbour with a valid key. */
export class FailureLimit {
  /** In the order in which the windows began, which is what makes the first the oldest. */
  private readonly windows = new Map<string, Window>();

  /** `mostPerMinute` 0 is no limit. The clock is in milliseconds and must never go back. */
  constructor(
    readonly mostPerMinute: number,
    private readonly clock: () => number = () => performance.now(),
  ) {}

  /** How many sources are remembered. */
  get size(): number {
    return this.windows.size;
  }

  /** Counts one failure of `source`; undefined while it is within the limit. */
  count(source: string): Excess | undefined {
    if (this.mostPerMinute === 0) return undefined;
    const nowMs = this.clock();
    const window = this.windowOf(source, nowMs);
    window.failures += 1;
    if (window.failures <= this.mostPerMinute) return undefined;
    return {
      retryAfterSeconds: Math.ceil((window.startMs + WINDOW_MS - nowMs) / 1000),
      isFirst: window.failures === this.mostPerMinute + 1,
    };
  }

  private windowOf(source: string, nowMs: number): Window {
    const current = this.windows.get(source);
    if (current !== undefined && nowMs < current.startMs + WINDOW_MS) return current;
    this.windows.delete(source);
    this.forgetOldest();
    const started = { startMs: nowMs, failures: 0 };
    this.windows.set(source, started);
    return started;
  }

  private forgetOldest(): void {
    if (this.windows.size < MAX_SOURCES) return;
    for (const oldest of this.windows.keys()) {
      this.windows.delete(oldest);
      return;
    }
  }
}

/** What an address counts as: itself for IPv4; for IPv6 its /64, since every customer holds at least one and can use all of it. */
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

/** A socket that takes both versions shows IPv4 as `::ffff:192.0.2.1`; as a /64 all of IPv4 would be one source. */
function mappedIpv4(groups: readonly string[]): string | undefined {
  if (groups.slice(0, 6).join(':') !== '0:0:0:0:0:ffff') return undefined;
  const bytes = groups.slice(6).flatMap((group) => {
    const value = Number.parseInt(group, 16);
    return [value >> 8, value & 0xff];
  });
  return bytes.join('.');
}
