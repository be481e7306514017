import type { ServiceLog } from '../../service-log/service-log.js';
import { howItEnded, type WorkerEnd } from './worker-process.js';

/** A worker that has run for longer is replaced at once, and so is one that ends early for the first time. */
const SETTLED_AFTER_MS = 60_000;
const FIRST_DELAY_MS = 1_000;
const MAX_DELAY_MS = 30_000;

/** Starts another worker for each that ended, after a delay that doubles while they end early. */
export class Replacements {
  private readonly timers = new Map<number, NodeJS.Timeout>();
  /** How often each worker has ended early in a row. */
  private readonly earlyEnds = new Map<number, number>();

  constructor(
    private readonly log: ServiceLog,
    private readonly run: (number: number) => Promise<unknown>,
  ) {}

  replace(number: number, end: WorkerEnd, ranMs: number): void {
    const delayMs = this.delayOf(number, ranMs);
    const when = delayMs === 0 ? '' : ` in ${delayMs / 1000} s`;
    this.log.line('error', { worker: number }, `worker ${number} ${whatHappened(end)}; starting another${when}`);
    const timer = setTimeout(() => {
      void this.run(number).then(() => this.log.line('info', { worker: number }, `worker ${number} serves again`));
    }, delayMs);
    this.timers.set(number, timer);
  }

  stop(): void {
    for (const timer of this.timers.values()) clearTimeout(timer);
  }

  private delayOf(number: number, ranMs: number): number {
    const earlyEnds = ranMs >= SETTLED_AFTER_MS ? 0 : (this.earlyEnds.get(number) ?? 0) + 1;
    this.earlyEnds.set(number, earlyEnds);
    return earlyEnds < 2 ? 0 : Math.min(MAX_DELAY_MS, FIRST_DELAY_MS * 2 ** (earlyEnds - 2));
  }
}

const whatHappened = (end: WorkerEnd): string =>
  end.failure === undefined ? `ended (${howItEnded(end)})` : `could not start: ${end.failure.message}`;
