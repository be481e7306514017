import { setTimeout as sleep } from 'node:timers/promises';
import { messageOf } from '../../error-message.js';
import type { LogPositions } from './log-positions.js';

interface Waiting {
  readonly accountId: string;
  readonly position: number;
  readonly deadline: number;
  readonly signal: AbortSignal;
  resolve(head: number): void;
}

/** Delay until a follower hears of an event, regardless of which instance wrote it. */
const POLL_EVERY_MS = 25;
const POLL_AFTER_FAILURE_MS = 500;

/**
 * Notifies followers when a log has grown, by polling. All followers of an instance share one query, and without
 * followers there is no query. A NOTIFY in the append would cost two thirds of its throughput.
 */
export class LogHeads {
  private waiting: Waiting[] = [];
  private isPolling = false;

  constructor(
    private readonly positions: LogPositions,
    private readonly warn: (message: string) => void,
  ) {}

  /**
   * Resolves with the head once it is beyond `position`, or with `position` after `waitMs` or when the signal aborts.
   */
  beyond(accountId: string, position: number, waitMs: number, signal: AbortSignal): Promise<number> {
    return new Promise((resolve) => {
      this.waiting.push({ accountId, position, deadline: Date.now() + waitMs, signal, resolve });
      if (!this.isPolling) void this.poll();
    });
  }

  private async poll(): Promise<void> {
    this.isPolling = true;
    while (this.waiting.length > 0) {
      const heads = await this.heads().catch((error: unknown) => this.warnUnavailable(error));
      this.settle(heads ?? new Map());
      if (this.waiting.length > 0) await sleep(heads === undefined ? POLL_AFTER_FAILURE_MS : POLL_EVERY_MS);
    }
    this.isPolling = false;
  }

  private async heads(): Promise<ReadonlyMap<string, number>> {
    const accounts = [...new Set(this.waiting.map(({ accountId }) => accountId))];
    const heads = await Promise.all(accounts.map((accountId) => this.positions.head(accountId)));
    return new Map(accounts.map((accountId, n) => [accountId, heads[n] ?? 0]));
  }

  /** Followers stay while the database is unavailable, and continue when it is back. */
  private warnUnavailable(error: unknown): undefined {
    this.warn(`followers wait for the database: ${messageOf(error)}`);
  }

  private settle(heads: ReadonlyMap<string, number>): void {
    const now = Date.now();
    this.waiting = this.waiting.filter(({ accountId, position, deadline, signal, resolve }) => {
      const head = heads.get(accountId) ?? 0;
      if (head <= position && now < deadline && !signal.aborted) return true;
      resolve(Math.max(head, position));
      return false;
    });
  }
}
