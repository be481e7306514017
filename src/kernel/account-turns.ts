import { KeyedQueue } from './keyed-queue.js';
import { Problem } from './problem.js';

interface Limits {
  /** What waits, in the messages: `audit reads`. */
  readonly noun: string;
  /** Turns at once, of all accounts together and of one account. */
  readonly atOnce: number;
  readonly atOnceOfAccount: number;
  /** How many may wait for a turn. */
  readonly waiting: number;
  readonly waitingOfAccount: number;
}

/**
 * Gives out a few turns. An account waits in a queue of its own for as many as it may have at once, and with these in the
 * queue of all. So another account waits only for what one may run at once.
 */
export class AccountTurns {
  private readonly ofAccount: KeyedQueue;
  private readonly ofAll: KeyedQueue;

  constructor(private readonly limits: Limits) {
    this.ofAccount = new KeyedQueue(limits.atOnceOfAccount);
    this.ofAll = new KeyedQueue(limits.atOnce);
  }

  /** Work that waits for its turn. */
  get waiting(): number {
    return this.ofAccount.waiting + this.ofAll.waiting;
  }

  /** Throws Problem 429 if too much of the account waits, and 503 if too much of all accounts does. */
  refuseIfFull(accountId: string): void {
    const { noun, waiting, waitingOfAccount } = this.limits;
    const own = this.ofAccount.waitingOf(accountId);
    if (own >= waitingOfAccount) {
      const message = `The account already has ${own} ${noun} waiting on this instance; send fewer at once.`;
      throw new Problem('too_many_requests', message);
    }
    if (this.waiting >= waiting) throw new Problem('overloaded', `Too many ${noun} are waiting. Try again shortly.`);
  }

  /** Rejects with the signal's reason if it aborts before the turn. */
  run<T>(accountId: string, work: () => Promise<T>, signal?: AbortSignal): Promise<T> {
    return this.ofAccount.run(accountId, () => this.ofAll.run('all', work, signal), signal);
  }
}
