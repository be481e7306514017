import { setTimeout as sleep } from 'node:timers/promises';
import { OperatorError, UsageError } from '../../../kernel/operator-error.js';
import { MAX_AWAY_MS, PAUSES_MS, patiently } from '../../http/patiently.js';
import type { Collector } from './collector.js';
import { type Batch, COMMON_BEGINNING, type EventFeed, type LogEvent } from './event-feed.js';

interface PushTimings {
  /** The pauses between requests to a service that does not answer. */
  readonly pausesMs: readonly number[];
  /** The pause before the next request for new events. */
  readonly pollMs: number;
  /** How long a run with `once` waits for a service that does not answer. */
  readonly onceMs: number;
}

const TIMINGS: PushTimings = { pollMs: 1_000, pausesMs: PAUSES_MS, onceMs: MAX_AWAY_MS };

/** What to push, and where to begin. */
export interface Push {
  /** The last event that the collector got from an earlier run. */
  readonly sent: LogEvent | undefined;
  /** Where to begin if there is no such event: after this position. */
  readonly after: number;
  readonly maxEvents: number;
  /** Whether to end at the end of the log. */
  readonly once: boolean;
}

/** The last position that the collector has. Without an event id it is not known which event it has there. */
interface Reached {
  readonly account: string;
  readonly position: number;
  readonly eventId?: string;
}

/** Sends the log of an account to a collector in its order, batch by batch. */
export class LogPush {
  constructor(
    private readonly log: EventFeed,
    private readonly collector: Collector,
    private readonly push: Push,
    private readonly signal: AbortSignal,
    private readonly report: (line: string) => void,
    private readonly timings: PushTimings = TIMINGS,
  ) {}

  /**
   * Ends when the signal aborts, and with `once` at the end of the log. It waits for `accepted` after each batch, so
   * that only the last batch can be sent again after a kill. Resolves with the last position that the collector has;
   * undefined if the service never answered.
   */
  async run(accepted: (last: LogEvent) => Promise<void>): Promise<Reached | undefined> {
    let reached: Reached | undefined;
    try {
      reached = await this.beginning();
      for (let isEnd = false; !(isEnd && this.push.once); ) {
        const batch = await this.deliverNext(reached);
        isEnd = batch?.isEnd ?? true;
        if (batch === undefined) continue;
        reached = batch.last;
        await accepted(batch.last);
      }
    } catch (error) {
      if (!this.signal.aborted) throw error;
    }
    return reached;
  }

  /** Where to begin. The API key determines the account. */
  private async beginning(): Promise<Reached> {
    const { sent } = this.push;
    const position = sent?.position ?? this.push.after;
    // Refuses a position after the end of the log, from which the command would wait for ever or skip events.
    await this.patiently(() => this.log.batchAfter(position, 1, this.signal));
    const known = await this.eventAt(sent?.position ?? 1);
    if (known === undefined) throw new OperatorError(`${this.log.service} shows a log without events`);
    const { account } = known;
    if (sent !== undefined && sent.account !== account) throw ofOtherAccount(sent, account);
    if (sent !== undefined) await this.refuseOtherLog(sent);
    this.report(`pushing the log of ${account} after position ${position} to ${this.collector.name}`);
    return sent ?? { account, position };
  }

  /** Undefined if there was no event yet after a while. */
  private async deliverNext(reached: Reached): Promise<Batch | undefined> {
    const { maxEvents, once } = this.push;
    const batch = await this.patiently(() => this.log.batchAfter(reached.position, maxEvents, this.signal));
    if (batch !== undefined) {
      await this.refuseOtherLog(reached);
      await this.collector.deliver(batch, this.signal);
    } else if (!once) await sleep(this.timings.pollMs, undefined, { signal: this.signal });
    return batch;
  }

  /**
   * Refuses a log that has another event at this position than the collector: the database can have been restored, and
   * its log can have grown again since.
   */
  private async refuseOtherLog({ account, position, eventId }: Reached): Promise<void> {
    if (eventId === undefined || (await this.eventAt(position))?.eventId === eventId) return;
    throw new OperatorError(
      `the event at position ${position} of ${account} is not the one that the collector got. Was the database restored ` +
        `from an older backup, or did a failover lose changes? ${COMMON_BEGINNING}`,
    );
  }

  private async eventAt(position: number): Promise<LogEvent | undefined> {
    return (await this.patiently(() => this.log.batchAfter(position - 1, 1, this.signal)))?.last;
  }

  private patiently<T>(ask: () => Promise<T>): Promise<T> {
    const { signal, report, log } = this;
    const { pausesMs, onceMs } = this.timings;
    const maxAwayMs = this.push.once ? onceMs : undefined;
    return patiently(ask, { name: log.service, report, signal, pausesMs, maxAwayMs });
  }
}

const ofOtherAccount = ({ account }: LogEvent, other: string): UsageError =>
  new UsageError(
    `the cursor belongs to account ${account}, but the API key to ${other}: name another file with --cursor, or ` +
      `the file of a key of ${account} with --api-key-file`,
  );
