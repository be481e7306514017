/** The window of a name begins with its first event. */
export const WINDOW_MS = 60_000;

interface Window {
  readonly startMs: number;
  count: number;
}

/** An event in its window. */
export interface Counted {
  /** Events of the same name in this window, this one included. */
  readonly count: number;
  /** Seconds until the window ends. */
  readonly endsInSeconds: number;
}

/** Counts events by name, in windows of a minute. */
export class WindowCounter {
  /** Ordered by the start of the window: the first is the oldest. */
  private readonly windows = new Map<string, Window>();

  /** A name beyond `maxNames` replaces the oldest window. The clock is in milliseconds and must never go back. */
  constructor(
    private readonly maxNames: number,
    private readonly clock: () => number = () => performance.now(),
  ) {}

  /** Number of names kept. */
  get size(): number {
    return this.windows.size;
  }

  count(name: string): Counted {
    const nowMs = this.clock();
    const window = this.windowOf(name, nowMs);
    window.count += 1;
    return { count: window.count, endsInSeconds: Math.ceil((WINDOW_MS - (nowMs - window.startMs)) / 1000) };
  }

  private windowOf(name: string, nowMs: number): Window {
    const current = this.windows.get(name);
    if (current !== undefined && nowMs < current.startMs + WINDOW_MS) return current;
    this.windows.delete(name);
    const [oldest = ''] = this.windows.keys();
    if (this.windows.size >= this.maxNames) this.windows.delete(oldest);
    const started = { startMs: nowMs, count: 0 };
    this.windows.set(name, started);
    return started;
  }
}
