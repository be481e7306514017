import type { GatewayLog } from '../gateway-log.js';

const MAX_LINES_PER_SECOND = 10;

/** The log of refused binds. A client can ask without end, so that each credential has a few lines a second. */
export class RefusalLog {
  private readonly counts = new Map<string, number>();

  constructor(private readonly log: GatewayLog) {}

  line(credential: string, fields: object, message: string): void {
    if (this.counts.size === 0) setTimeout(() => this.endSecond(), 1_000).unref();
    const count = (this.counts.get(credential) ?? 0) + 1;
    this.counts.set(credential, count);
    if (count <= MAX_LINES_PER_SECOND) this.log.line('info', { credential, ...fields }, message);
  }

  private endSecond(): void {
    for (const [credential, count] of this.counts) {
      const leftOut = count - MAX_LINES_PER_SECOND;
      if (leftOut > 0) this.log.line('warn', { credential }, `refused ${leftOut} more binds within a second`);
    }
    this.counts.clear();
  }
}
