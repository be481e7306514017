import { Injectable } from '@nestjs/common';
import { LimitedWork } from '../../../kernel/limited-work.js';
import type { ReadRequest } from '../../http/request-context.js';

/** How many checks are worked on at once, and wait. An account has one at a time, so it never has all of them. */
const LIMITS = { atOnce: 2, atOnceOfAccount: 1, waiting: 1_000, waitingOfAccount: 50 };

@Injectable()
export class CheckLimit {
  private readonly checks = new LimitedWork({ noun: 'checks', ...LIMITS });

  /**
   * Throws Problem 429 if too many checks of the account wait, and 503 if too many of all do. A check whose client has gone
   * is not worked on.
   */
  async run<T>({ caller: { accountId }, signal }: ReadRequest, work: () => Promise<T>): Promise<T> {
    this.checks.refuseIfFull(accountId);
    return this.checks.run(accountId, work, signal);
  }
}
