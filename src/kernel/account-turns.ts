import { KeyedQueue } from './keyed-queue.js';
import { Problem } from './problem.js';

interface Limits {
  /** The word for the waiting work in messages, such as `audit reads`. */
  readonly noun: string;
  /** How many turns may run at once, for all accounts together and for one account. */
  readonly atOnce: number;
  readonly atOnceOfAccount: number;
  /** How many may wait for a turn, for all accounts together and for one account. */
  readonly waiting: number;
  readonly waitingOfAccount: number;
}

/**
 * Lets a limited number of pieces of work run at once. Work waits first in the queue of its account, and then in the
 * queue of all accounts. So at most `atOnceOfAccount` pieces of one account are before the work of others.
 */
export class AccountTurns {
  private readonly ofAccount: KeyedQueue;
  private readonly ofAll: KeyedQueue;

  constructor(private readonly limits: Limits) {
    this.ofAccount = new KeyedQueue(limits.atOnceOfAccount);
    this.ofAll = new KeyedQueue(limits.atOnce);
  }

  /** The number of pieces of work that wait for a turn. */
  get waiting(): number {
    return this.ofAccount.waiting + this.ofAll.waiting;
  }

  /** Throws Problem 429 if too much work of the account waits, and 503 if too much work of all accounts waits. */
  refuseIfFull(accountId: string): void {
    const { noun, waiting, waitingOfAccount } = this.limits;
    const own = this.ofAccount.waitingOf(accountId);
    if (own >= waitingOfAccount) {
      const message = `The account already has ${own} ${noun} waiting on this instance; send fewer at once.`;
      throw new Problem('too_many_requests', message);
    }
    if (this.waiting >= waiting) throw new Problem('overloaded', `Too many ${noun} are waiting. Try again shortly.`);
  }

  /** Runs the work in its turn. Rejects with the signal's reason if the signal aborts before the turn. */
  run<T>(accountId: string, work: () => Promise<T>, signal?: AbortSignal): Promise<T> {
    return this.ofAccount.run(accountId, () => this.ofAll.run('all', work, signal), signal);
  }
}
