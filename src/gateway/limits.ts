import type { CredentialLimits } from './gateway-settings.js';

type Counted = 'connections' | 'binds' | 'channels';

/** Unused bytes of this time can be sent at once. */
const BURST_MS = 100;

/** What one credential uses of this gateway. */
export class CredentialUsage {
  private readonly counts = { connections: 0, binds: 0, channels: 0 };
  private paidUntil = 0;

  constructor(private readonly limits: CredentialLimits) {}

  get isUnused(): boolean {
    return Object.values(this.counts).every((count) => count === 0);
  }

  /** Whether there was room; then `release` gives it back. */
  take(what: Counted): boolean {
    const max = { connections: 'maxConnections', binds: 'maxBinds', channels: 'maxChannels' } as const;
    const limit = this.limits[max[what]];
    if (limit > 0 && this.counts[what] >= limit) return false;
    this.counts[what] += 1;
    return true;
  }

  release(what: Counted): void {
    this.counts[what] -= 1;
  }

  /** The time to wait after these bytes, in milliseconds. */
  pauseAfter(bytes: number): number {
    const { maxBytesPerSecond } = this.limits;
    if (maxBytesPerSecond === 0) return 0;
    const now = performance.now();
    this.paidUntil = Math.max(this.paidUntil, now) + (bytes / maxBytesPerSecond) * 1000;
    return Math.max(0, this.paidUntil - now - BURST_MS);
  }
}

export class Limits {
  private readonly usages = new Map<string, CredentialUsage>();

  constructor(private readonly limits: CredentialLimits) {}

  usageOf(credentialId: string): CredentialUsage {
    const usage = this.usages.get(credentialId) ?? new CredentialUsage(this.limits);
    this.usages.set(credentialId, usage);
    return usage;
  }

  forgetUnused(credentialId: string): void {
    if (this.usages.get(credentialId)?.isUnused === true) this.usages.delete(credentialId);
  }
}
