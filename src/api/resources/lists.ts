import { Injectable } from '@nestjs/common';
import { eventLoop } from '../../kernel/event-loop.js';
import { LimitedWork } from '../../kernel/limited-work.js';
import type { ReadRequest } from '../http/request-context.js';

/**
 * Pages that are read at once. A page has a hundred entities, and each of those reads takes a connection from the reads of
 * single entities, from changes and from gateways. An account may have all of these places while no other one waits.
 */
const AT_ONCE = 4;

/** The pages of all lists of current state. Those of one account delay no other account. */
@Injectable()
export class Lists {
  private readonly reads = new LimitedWork({ noun: 'lists', atOnce: AT_ONCE });

  /** Reads a page and makes its answer. It does neither if the client has gone. */
  async page<Found, Page>(
    { caller: { accountId }, signal }: ReadRequest,
    read: () => Promise<Found>,
    answer: (found: Found) => Page,
  ): Promise<Page> {
    const found = await this.reads.run(accountId, read, signal);
    return eventLoop.run([accountId], () => answer(found), { signal });
  }
}
