import { Readable } from 'node:stream';
import { setTimeout as sleep } from 'node:timers/promises';
import { Injectable, Logger, type OnModuleDestroy, Optional } from '@nestjs/common';
import { coalesced, type RowReader } from '../../database/index.js';
import { LogPositions, LogTail, type TailEvent } from '../../event-log/index.js';
import { messageOf } from '../../kernel/error-message.js';
import { Places } from '../../kernel/places.js';
import { EventStream, eventText, type StillAuthorized } from '../http/event-stream.js';
import { EventFeed, type FeedSelection } from './event-feed.js';
import { lastMessageOf, lostTail } from './lost-tail.js';
import { textOfUnreadable } from './unreadable-event.js';

interface FeedTimings {
  readonly heartbeatMs: number;
  /** How long a follower may still read after its key was revoked or its owner lost the role. */
  readonly authorizationCheckMs: number;
}

const FEED_TIMINGS: FeedTimings = { heartbeatMs: 15_000, authorizationCheckMs: 1_000 };

/** Each follower checks its authorization in the database once a second, so an account may have only some of them. */
const MAX_FOLLOWERS_PER_ACCOUNT = 100;
const TOO_MANY = `The account already has ${MAX_FOLLOWERS_PER_ACCOUNT} live feeds on this instance; close one.`;

/** The longest trust in a silent tail. */
const LOOK_EVERY_MS = 5_000;
const LOOK_AFTER_FAILURE_MS = 500;

/** A page of the feed as Server-Sent Events. */
interface Messages {
  readonly text: string;
  readonly scannedTo: number;
}

/**
 * Server-Sent Events: the log after a position, and then every new event. A follower holds at most one page and reads
 * the next one when its reader has taken it, so a slow reader costs little memory and misses no event.
 */
@Injectable()
export class LiveFeed implements OnModuleDestroy {
  private readonly stopping = new AbortController();
  private readonly followers = new Places([Number.POSITIVE_INFINITY, MAX_FOLLOWERS_PER_ACCOUNT]);
  private readonly logger = new Logger('Audit');
  private readonly headOf: (accountId: string) => Promise<number | undefined>;
  private readonly streams = new Set<EventStream>();
  private readonly reading = new Map<string, Promise<Messages>>();

  constructor(
    private readonly feed: EventFeed,
    private readonly tail: LogTail,
    positions: LogPositions,
    @Optional() private readonly timings: FeedTimings = FEED_TIMINGS,
  ) {
    this.headOf = coalesced((accountIds) => positions.headsOf(accountIds));
  }

  /** Live feeds that are open in this process. */
  get openFeeds(): number {
    return this.followers.held();
  }

  /** Ends every stream, since an open connection would delay the shutdown. */
  onModuleDestroy(): void {
    for (const stream of this.streams) stream.finish();
    this.stopping.abort();
  }

  /**
   * The stream of one follower. It ends when the service stops, when the follower is no longer authorized, and when
   * `disconnected` aborts. Throws Problem 429 if the account has too many followers.
   */
  follow(selection: FeedSelection, stillAuthorized: StillAuthorized, disconnected: AbortSignal): Readable {
    if (disconnected.aborted) return Readable.from([]);
    const removeFollower = this.followers.enter([selection.accountId], TOO_MANY);
    const stream = new EventStream(disconnected, this.timings);
    this.streams.add(stream);
    stream.onEnd(() => {
      this.streams.delete(stream);
      removeFollower();
    });
    if (this.stopping.signal.aborted) stream.finish();
    void this.write(stream, selection);
    void stream.endUnless(stillAuthorized, this.timings.authorizationCheckMs);
    return stream;
  }

  /** Ends with a message `problem` before an event that cannot be read. A client that resumes there gets no stream. */
  private async write(stream: EventStream, selection: FeedSelection): Promise<void> {
    try {
      await this.writeEvents(stream, selection).catch((error: unknown) =>
        stream.send(eventText(undefined, 'problem', textOfUnreadable(error))),
      );
      stream.finish();
    } catch (error) {
      // A stop ends the read of a page, which is not an error of the stream.
      if (!stream.ended.aborted) stream.destroy(error instanceof Error ? error : undefined);
    }
  }

  private async writeEvents(stream: EventStream, selection: FeedSelection): Promise<void> {
    let { after: position, upTo: head } = selection.span;
    const news = new NewsOf(selection.accountId);
    stream.onEnd(() => this.leave(news));
    // The heartbeat has an id, so that a client that reconnects need not search the skipped positions again.
    stream.send('', position);
    while (!stream.ended.aborted) {
      if (position < head) {
        const page = await this.shared({ ...selection, span: { after: position, upTo: head } });
        position = page.scannedTo;
        stream.send(page.text, position);
        await stream.taken();
      } else {
        head = await this.nextHead(stream, news, position);
        if (head < position) return stream.send(lastMessageOf(lostTail(position, head)));
      }
    }
  }

  private leave(news: NewsOf): void {
    this.tail.remove(news);
    news.lost();
  }

  /**
   * The head, after the next event or after a while: a log can lose its end without an event. The head is `position` while
   * the database is unavailable.
   */
  private async nextHead({ ended }: EventStream, news: NewsOf, position: number): Promise<number> {
    await news.next();
    if (ended.aborted) return position;
    try {
      await this.tail.add(news);
      return (await this.headOf(news.accountId)) ?? 0;
    } catch (error) {
      this.logger.warn(`followers wait for the database: ${messageOf(error)}`);
      await sleep(LOOK_AFTER_FAILURE_MS, undefined, { ref: false });
      news.lost();
      return position;
    }
  }

  /** Followers at the same position, which is where all up-to-date followers are, share one read. */
  private shared(selection: FeedSelection): Promise<Messages> {
    const key = JSON.stringify(selection);
    const running = this.reading.get(key);
    if (running !== undefined) return running;
    const page = this.read(selection).finally(() => this.reading.delete(key));
    this.reading.set(key, page);
    return page;
  }

  private async read(selection: FeedSelection): Promise<Messages> {
    const { events, scannedTo } = await this.feed.nextPage(selection, this.stopping.signal);
    // The position is the id of the message, which a client that reconnects sends as Last-Event-ID.
    return { text: events.map(({ position, line }) => eventText(position, undefined, line)).join(''), scannedTo };
  }
}

/** Whether there may be new events of an account. */
class NewsOf implements RowReader<TailEvent> {
  private isNew = true;
  private wake: () => void = () => undefined;

  constructor(readonly accountId: string) {}

  news(events: readonly TailEvent[]): void {
    if (events.some(({ account_id }) => account_id === this.accountId)) this.lost();
  }

  lost(): void {
    this.isNew = true;
    this.wake();
  }

  /** Resolves when there may be events since the last call. */
  async next(): Promise<void> {
    const woken = new AbortController();
    this.wake = () => woken.abort();
    if (!this.isNew) await sleep(LOOK_EVERY_MS, undefined, { ref: false, signal: woken.signal }).catch(() => undefined);
    this.isNew = false;
  }
}
