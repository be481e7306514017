import { Injectable } from '@nestjs/common';
import { eventLoop } from '../../kernel/event-loop.js';
import { LimitedWork } from '../../kernel/limited-work.js';
import type { ReadRequest } from '../http/request-context.js';

/**
 * Pages that are read at once, one of each account. A page has a hundred entities, and its read takes a connection, and a
 * core of the database, from the reads of single entities, from changes and from gateways.
 */
const AT_ONCE = 4;

/** The pages of all lists of current state. Those of one account delay no other account. */
@Injectable()
export class Lists {
  private readonly pages = new LimitedWork({ noun: 'lists', atOnce: AT_ONCE, atOnceOfAccount: 1 });

  /**
   * Reads a page and makes its answer. It does neither if the client has gone. The place is held until the answer is
   * made, else the answers of many reads would come at once and delay all others.
   */
  async page<Found, Page>(
    { caller: { accountId }, signal }: ReadRequest,
    read: () => Promise<Found>,
    answer: (found: Found) => Page,
  ): Promise<Page> {
    const whole = async () => {
      const found = await read();
      return eventLoop.run([accountId], () => answer(found), { signal });
    };
    return this.pages.run(accountId, whole, signal);
  }
}
