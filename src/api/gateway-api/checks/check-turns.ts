import { Injectable } from '@nestjs/common';
import { KeyedQueue } from '../../../kernel/keyed-queue.js';
import { Problem } from '../../../kernel/problem.js';
import type { ReadRequest } from '../../http/request-context.js';

/**
 * Checks that are worked on at once. Each takes a millisecond in a turn of the event loop, so this is how long all checks
 * delay another request in its turn.
 */
const AT_ONCE = 2;
const MAX_WAITING = 1_000;
const MAX_WAITING_OF_ACCOUNT = 50;

/** Turns for checks, which are arithmetic alone. An account has one at a time, so it never has all of them. */
@Injectable()
export class CheckTurns {
  private readonly ofAccount = new KeyedQueue();
  private readonly ofAll = new KeyedQueue(AT_ONCE);

  /** Throws Problem 429 if too many checks of the account wait, and 503 if too many of all do. */
  async run<T>({ caller: { accountId } }: ReadRequest, work: () => Promise<T>): Promise<T> {
    const waiting = this.ofAccount.waitingOf(accountId);
    if (waiting >= MAX_WAITING_OF_ACCOUNT) {
      const message = `The account already has ${waiting} checks waiting on this instance; send fewer at once.`;
      throw new Problem('too_many_requests', message);
    }
    if (this.ofAccount.waiting + this.ofAll.waiting >= MAX_WAITING) {
      throw new Problem('overloaded', 'Too many checks are waiting. Try again shortly.');
    }
    // Without the signal of the request, which is aborted once its body was read.
    return this.ofAccount.run(accountId, () => this.ofAll.run('all', work));
  }
}
