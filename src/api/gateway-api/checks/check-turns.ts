import { Injectable } from '@nestjs/common';
import { AccountTurns } from '../../../kernel/account-turns.js';
import type { ReadRequest } from '../../http/request-context.js';

/**
 * Checks that are worked on at once. Each uses up to a millisecond of a turn of the event loop, so all checks delay
 * another request by this many milliseconds.
 */
const AT_ONCE = 2;

/** Turns for checks, which only compute. An account has one at a time, so it never has all of them. */
@Injectable()
export class CheckTurns {
  private readonly turns = new AccountTurns({
    noun: 'checks',
    atOnce: AT_ONCE,
    atOnceOfAccount: 1,
    waiting: 1_000,
    waitingOfAccount: 50,
  });

  /** Throws Problem 429 if too many checks of the account wait, and 503 if too many of all do. */
  async run<T>({ caller: { accountId } }: ReadRequest, work: () => Promise<T>): Promise<T> {
    this.turns.refuseIfFull(accountId);
    // The signal of the request is left out: it aborts as soon as the body was read.
    return this.turns.run(accountId, work);
  }
}
