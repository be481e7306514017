import type { GatewayLog } from './gateway-log.js';

const MAX_LINES_PER_SECOND = 10;
/** Then all further ones share one place: a client may have as many addresses as it likes. */
const MAX_NAMES = 1_000;
const OTHERS = 'others';

/** Lines about what clients do. They can do it without end, so each name has a few lines a second. */
export class PacedLog {
  private readonly counts = new Map<string, number>();

  constructor(
    private readonly log: GatewayLog,
    /** Completes "left out 12 lines about ...". */
    private readonly what: string,
  ) {}

  line(name: string, fields: object, message: string, level: 'info' | 'error' = 'info'): void {
    if (this.counts.size === 0) setTimeout(() => this.endSecond(), 1_000).unref();
    const place = this.counts.has(name) || this.counts.size < MAX_NAMES ? name : OTHERS;
    const count = (this.counts.get(place) ?? 0) + 1;
    this.counts.set(place, count);
    if (count <= MAX_LINES_PER_SECOND) this.log.line(level, fields, message);
  }

  private endSecond(): void {
    for (const [name, count] of this.counts) {
      const leftOut = count - MAX_LINES_PER_SECOND;
      if (leftOut > 0)
        this.log.line('warn', { of: name }, `left out ${leftOut} more lines about ${this.what} within a second`);
    }
    this.counts.clear();
  }
}
