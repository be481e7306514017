import { Readable } from 'node:stream';
import { setTimeout as sleep } from 'node:timers/promises';
import { Injectable, type OnModuleDestroy, Optional } from '@nestjs/common';
import { LogHeads } from '../../event-log/index.js';
import { Places } from '../../kernel/places.js';
import { endWhenUnauthorized, type StillAuthorized } from '../http/still-authorized.js';
import { EventFeed, type FeedSelection } from './event-feed.js';
import { lastMessageOf, lostTail } from './lost-tail.js';
import { textOfUnreadable } from './unreadable-event.js';

interface FeedTimings {
  /** The longest silence of a stream, so that each side notices that the other one is away. */
  readonly heartbeatMs: number;
  /** How long a follower may still read after its key was revoked or its owner lost the role. */
  readonly authorizationCheckMs: number;
}

const FEED_TIMINGS: FeedTimings = { heartbeatMs: 15_000, authorizationCheckMs: 1_000 };

/** When a client should reconnect. */
const RETRY_MS = 1_000;
/** How long a reader may take to read the end of its stream before the connection is cut. */
const MAX_ENDING_MS = 1_000;
/** Each follower checks its authorization in the database once a second, so an account may have only some of them. */
const MAX_FOLLOWERS_PER_ACCOUNT = 100;
const TOO_MANY = `The account already has ${MAX_FOLLOWERS_PER_ACCOUNT} live feeds on this instance; close one.`;

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
  private readonly reading = new Map<string, Promise<Messages>>();

  constructor(
    private readonly feed: EventFeed,
    private readonly heads: LogHeads,
    @Optional() private readonly timings: FeedTimings = FEED_TIMINGS,
  ) {}

  /** Live feeds that are open in this process. */
  get openFeeds(): number {
    return this.followers.held();
  }

  /** Ends every stream, since an open connection would delay the shutdown. */
  onModuleDestroy(): void {
    this.stopping.abort();
  }

  /**
   * The stream of one follower. It ends when the service stops, when the follower is no longer authorized, and when
   * `disconnected` aborts; without that signal it would notice a closed connection only at its next message. Rejects with
   * Problem 429 if the account has too many followers.
   */
  async follow(
    selection: FeedSelection,
    stillAuthorized: StillAuthorized,
    disconnected: AbortSignal,
  ): Promise<Readable> {
    if (disconnected.aborted) return Readable.from([]);
    const removeFollower = this.followers.enter([selection.accountId], TOO_MANY);
    const ending = new AbortController();
    const signal = AbortSignal.any([this.stopping.signal, ending.signal, disconnected]);
    const stream = Readable.from(this.messages(selection, signal), { objectMode: false });
    if (signal.aborted) removeFollower();
    signal.addEventListener('abort', removeFollower, { once: true });
    signal.addEventListener('abort', () => void cutOff(stream), { once: true });
    void endWhenUnauthorized(stillAuthorized, this.timings.authorizationCheckMs, ending, signal);
    return stream;
  }

  /** Ends with a message `problem` before an event that cannot be read. A client that resumes there gets no stream. */
  private async *messages(selection: FeedSelection, signal: AbortSignal): AsyncGenerator<string> {
    try {
      yield* this.eventMessages(selection, signal);
    } catch (error) {
      yield `event: problem\ndata: ${textOfUnreadable(error)}\n\n`;
    }
  }

  private async *eventMessages(selection: FeedSelection, signal: AbortSignal): AsyncGenerator<string> {
    let [position, head, sentAt] = [selection.span.after, selection.span.upTo, Date.now()];
    yield `retry: ${RETRY_MS}\n\n`;
    while (!signal.aborted) {
      let text = '';
      if (position < head) {
        const page = await this.shared({ ...selection, span: { after: position, upTo: head } }).catch((error) => {
          // A stop ends the read of a page, which is not an error of the stream.
          if (!signal.aborted) throw error;
        });
        if (page === undefined) return;
        [position, text] = [page.scannedTo, page.text];
      } else {
        head = await this.heads.beyond(selection.accountId, position, this.timings.authorizationCheckMs, signal);
        if (head < position) return yield lastMessageOf(lostTail(position, head));
      }
      // The heartbeat has an id, so that a client that reconnects need not search the skipped positions again.
      if (text === '' && Date.now() - sentAt >= this.timings.heartbeatMs) text = `: nothing new\nid: ${position}\n\n`;
      if (text === '') continue;
      yield text;
      sentAt = Date.now();
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
    return { text: events.map(({ position, line }) => messageOf(position, line)).join(''), scannedTo };
  }
}

/** The position is the id of the message, which a client that reconnects sends as Last-Event-ID. */
const messageOf = (position: number, line: string): string => `id: ${position}\ndata: ${line}\n\n`;

async function cutOff(stream: Readable): Promise<void> {
  await sleep(MAX_ENDING_MS, undefined, { ref: false });
  stream.destroy();
}
