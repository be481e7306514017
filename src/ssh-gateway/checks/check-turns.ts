import { FairTurns } from '../../database/fair-turns.js';
import type { ReadRequest } from '../../http/request-context.js';

/**
 * Checks that are worked on at once. Each takes a millisecond in a turn of the event loop, so this is how long all checks
 * delay another request in its turn.
 */
const AT_ONCE = 2;
const MAX_WAITING = 1_000;
const MAX_WAITING_OF_ACCOUNT = 50;

/** Turns for checks, which are arithmetic alone: one account at a time has one, and the accounts rotate. */
export class CheckTurns {
  private readonly turns = new FairTurns({
    running: AT_ONCE,
    runningPerAccount: 1,
    waiting: MAX_WAITING,
    waitingPerAccount: MAX_WAITING_OF_ACCOUNT,
  });

  /** Throws Problem 429 if too many checks of the account wait, and 503 if too many of all do. */
  async run<T>({ caller: { accountId } }: ReadRequest, work: () => Promise<T>): Promise<T> {
    this.turns.refuseIfFull(accountId);
    // Not the signal of the request, which is aborted once its body was read.
    await this.turns.begin(accountId, new AbortController().signal);
    try {
      return await work();
    } finally {
      this.turns.end(accountId);
    }
  }
}
