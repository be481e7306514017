import { setTimeout as sleep } from 'node:timers/promises';
import { messageOf } from '../../kernel/error-message.js';
import type { LogPositions } from './log-positions.js';

interface Waiting {
  readonly accountId: string;
  readonly position: number;
  readonly deadline: number;
  readonly signal: AbortSignal;
  resolve(head: number): void;
}

/** The longest delay until a follower hears of an event, whichever instance wrote it. */
const POLL_EVERY_MS = 25;
const POLL_AFTER_FAILURE_MS = 500;

/**
 * Tells followers when a log has grown, by polling. All followers of an instance share one query, and without followers
 * there is no query. Appends do not use NOTIFY, because PostgreSQL commits transactions with NOTIFY only one after the
 * other.
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
   * It also resolves with a head before `position`: the end of the log is then lost.
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
      // Only for those who wait already, because the query may not see newer positions.
      const asking = this.waiting;
      this.waiting = [];
      // Followers stay while the database is unavailable, and continue when it is back.
      const accounts = new Set(asking.map(({ accountId }) => accountId));
      const heads = await this.positions
        .headsOf([...accounts])
        .catch((error: unknown) => void this.warn(`followers wait for the database: ${messageOf(error)}`));
      this.waiting.push(...asking.filter((one) => !this.settle(one, heads)));
      if (this.waiting.length > 0) await sleep(heads === undefined ? POLL_AFTER_FAILURE_MS : POLL_EVERY_MS);
    }
    this.isPolling = false;
  }

  /** Returns false if the follower still waits. `heads` is undefined while the database is unavailable. */
  private settle(waiting: Waiting, heads: ReadonlyMap<string, number> | undefined): boolean {
    const { accountId, position, deadline, signal, resolve } = waiting;
    const head = heads === undefined ? position : (heads.get(accountId) ?? 0);
    if (head === position && Date.now() < deadline && !signal.aborted) return false;
    if (head < position) {
      this.warn(
        `the log of ${accountId} ends at ${head}, but a follower has read it up to ${position}: its tail is lost`,
      );
    }
    resolve(head);
    return true;
  }
}
