import type { LogPositions } from './log-positions.js';

interface Waiting {
  readonly accountId: string;
  readonly position: number;
  readonly until: number;
  readonly signal: AbortSignal;
  resolve(head: number): void;
}

/** How soon a follower hears of an event, whichever copy of the service wrote it. */
const POLL_EVERY_MS = 25;
const POLL_AFTER_FAILURE_MS = 500;

/**
 * Tells followers when a log has grown. All of a process ask together: one query of a row an account, and none while nobody
 * follows. (A NOTIFY in the append would cost two thirds of its throughput.)
 */
export class LogHeads {
  private waiting: Waiting[] = [];
  private isPolling = false;

  constructor(
    private readonly moments: LogPositions,
    private readonly warn: (message: string) => void,
  ) {}

  /** The head, as soon as it is beyond `position`; `position` itself after `waitMs`, or when the signal says so. */
  beyond(accountId: string, position: number, waitMs: number, signal: AbortSignal): Promise<number> {
    return new Promise((resolve) => {
      this.waiting.push({ accountId, position, until: Date.now() + waitMs, signal, resolve });
      if (!this.isPolling) void this.poll();
    });
  }

  private async poll(): Promise<void> {
    this.isPolling = true;
    while (this.waiting.length > 0) {
      const heads = await this.heads().catch((error: unknown) => this.explain(error));
      this.settle(heads ?? new Map());
      if (this.waiting.length > 0) await pause(heads === undefined ? POLL_AFTER_FAILURE_MS : POLL_EVERY_MS);
    }
    this.isPolling = false;
  }

  private async heads(): Promise<ReadonlyMap<string, number>> {
    const accounts = [...new Set(this.waiting.map(({ accountId }) => accountId))];
    const heads = await Promise.all(accounts.map((accountId) => this.moments.head(accountId)));
    return new Map(accounts.map((accountId, n) => [accountId, heads[n] ?? 0]));
  }

  /** The database may be away for a while: followers stay, and go on when it is back. */
  private explain(error: unknown): undefined {
    this.warn(`followers wait for the database: ${error instanceof Error ? error.message : String(error)}`);
  }

  private settle(heads: ReadonlyMap<string, number>): void {
    const now = Date.now();
    this.waiting = this.waiting.filter(({ accountId, position, until, signal, resolve }) => {
      const head = heads.get(accountId) ?? 0;
      if (head <= position && now < until && !signal.aborted) return true;
      resolve(Math.max(head, position));
      return false;
    });
  }
}

const pause = (ms: number): Promise<void> => new Promise((resolve) => setTimeout(resolve, ms));
