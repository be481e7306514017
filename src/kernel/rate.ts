const MIN_KEPT = 1_000;

/**
 * A rate limit for each name; 0 per second means no limit. What a name did not use in the last `burstMs`, it may use at
 * once. Nobody waits longer than `maxWaitMs`, whatever others with the same name have taken.
 */
export class Rate {
  /** The time when everything that was taken is paid for. */
  private readonly paidUntil = new Map<string, number>();
  private maxKept = MIN_KEPT;

  constructor(
    private readonly perSecond: number,
    private readonly burstMs: number,
    private readonly maxWaitMs = Number.POSITIVE_INFINITY,
  ) {}

  /** Takes this amount. Returns how long to wait afterwards, in milliseconds. */
  take(name: string, amount = 1): number {
    if (this.perSecond === 0) return 0;
    const now = performance.now();
    const due = Math.max(this.paidUntil.get(name) ?? now, now) + (amount / this.perSecond) * 1_000;
    const paid = Math.min(due, now + this.burstMs + this.maxWaitMs);
    this.paidUntil.set(name, paid);
    if (this.paidUntil.size > this.maxKept) this.forgetPaid(now);
    return Math.min(Math.max(0, paid - now - this.burstMs), this.maxWaitMs);
  }

  /** Takes one, if that needs no wait. Returns whether it did. */
  takeAtOnce(name: string): boolean {
    if (this.perSecond === 0) return true;
    const now = performance.now();
    if ((this.paidUntil.get(name) ?? now) - now >= this.burstMs) return false;
    this.take(name);
    return true;
  }

  private forgetPaid(now: number): void {
    for (const [name, paid] of this.paidUntil) if (paid <= now) this.paidUntil.delete(name);
    this.maxKept = Math.max(MIN_KEPT, 2 * this.paidUntil.size);
  }
}
