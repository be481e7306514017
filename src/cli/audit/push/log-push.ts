import { setTimeout as sleep } from 'node:timers/promises';
import type { Pool } from 'pg';
import type { CloudEvents } from '../../../audit/cloud-events.js';
import { LogPages, type PageSize } from '../../../log/read/log-pages.js';
import { LogPositions } from '../../../log/read/log-positions.js';
import type { RecordedEvent } from '../../../log/read/recorded-event.js';
import { OperatorError } from '../../../operator-error.js';
import { batchOf } from './batch.js';
import type { Collector } from './collector.js';
import type { Cursor } from './push-cursor.js';

const POLL_INTERVAL_MS = 250;
/** A batch ends with the event that reaches this many characters of data, so memory stays small and collectors take it. */
const MAX_BATCH_CHARACTERS = 256 * 1024;

/** What is pushed, and from where on. */
export interface Push {
  readonly account: string;
  /** The last event that the collector has; 0 for none. */
  readonly after: number;
  /** The id of that event, if the collector got it from an earlier run. */
  readonly eventId: string | undefined;
  readonly maxEvents: number;
  /** Ends at the end that the log has now. */
  readonly once: boolean;
}

/**
 * Sends the log of an account to a collector in its order, batch by batch. `accepted` is called after each one, and the
 * next one is sent when it has returned: so after a kill at any moment only the last batch can be sent again.
 */
export class LogPush {
  private readonly positions: LogPositions;
  private readonly pages: LogPages;

  constructor(
    pool: Pool,
    private readonly cloudEvents: CloudEvents,
    private readonly collector: Collector,
  ) {
    this.positions = new LogPositions(pool);
    this.pages = new LogPages(pool);
  }

  /** Returns the position up to which the collector has the log, once that is all of it or the signal aborts. */
  async run(push: Push, accepted: (cursor: Cursor) => Promise<void>, signal: AbortSignal): Promise<number> {
    await this.refuseOtherLog(push);
    const { account } = push;
    const end = push.once ? await this.positions.head(account) : Number.POSITIVE_INFINITY;
    const size = { events: push.maxEvents, characters: MAX_BATCH_CHARACTERS };
    let position = push.after;
    while (!signal.aborted && position < end) {
      const last = await this.next(account, position, size, signal);
      if (last === undefined) await sleep(POLL_INTERVAL_MS, undefined, { signal }).catch(() => undefined);
      else {
        position = last.position;
        await accepted({ account, collector: this.collector.name, position, eventId: last.eventId });
      }
    }
    return position;
  }

  /** Delivers the next batch. Returns its last event; undefined if there is no event yet, or if the signal aborted. */
  private async next(
    account: string,
    after: number,
    size: PageSize,
    signal: AbortSignal,
  ): Promise<RecordedEvent | undefined> {
    const upTo = await this.positions.head(account);
    if (upTo < after) throw shorterLog(account, after, upTo);
    if (upTo === after) return undefined;
    const { events } = await this.pages.page(account, { after, upTo }, {}, size);
    const batch = batchOf(events, this.cloudEvents);
    return (await this.collector.deliver(batch, signal)) ? batch.last : undefined;
  }

  /** Positions of another log would skip events, or wait for ever. */
  private async refuseOtherLog({ account, after, eventId }: Push): Promise<void> {
    const head = await this.positions.head(account);
    if (after > head) throw shorterLog(account, after, head);
    if (eventId === undefined) return;
    const { events } = await this.pages.page(account, { after: after - 1, upTo: after });
    if (events[0]?.eventId !== eventId) throw otherLog(account, after);
  }
}

const WAY_OUT =
  'Was the database restored from an older backup, did a failover lose changes, or is it a standby that lags? Unless it ' +
  'lags, find the last ' +
  'position that the collector and the log have in common, and begin after it: --after POSITION with a new --cursor';

const shorterLog = (account: string, after: number, head: number): OperatorError =>
  new OperatorError(`the collector has the log of ${account} up to ${after}, but the log ends at ${head}. ${WAY_OUT}`);

const otherLog = (account: string, after: number): OperatorError =>
  new OperatorError(`the event at position ${after} of ${account} is not the one that the collector got. ${WAY_OUT}`);
