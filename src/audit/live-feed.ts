import { Readable } from 'node:stream';
import { setTimeout as pause } from 'node:timers/promises';
import type { OnModuleDestroy } from '@nestjs/common';
import { MAX_PAGE_EVENTS } from '../http/pages.js';
import type { LogHeads } from '../log/read/log-heads.js';
import { Problem } from '../problem.js';
import type { EventFeed, FeedPart, ShownEvent } from './event-feed.js';

export interface FeedTimes {
  /** How long a follower may hear nothing, so that both sides notice when the other has gone. */
  readonly heartbeatMs: number;
  /** How long a revoked key, or one whose owner lost the role, goes on hearing. */
  readonly checkEveryMs: number;
}

export const FEED_TIMES: FeedTimes = { heartbeatMs: 15_000, checkEveryMs: 1_000 };

/** When a client should come back after it lost us. */
const RETRY_MS = 1_000;
/** A reader that does not take the end of its stream is cut off. */
const MAX_GOODBYE_MS = 1_000;

/** A page of the feed as it goes over the wire. */
interface Messages {
  readonly text: string;
  readonly scannedTo: number;
}

/** Each asks the database once a second whether it may go on; one account must not take that from the others. */
const MAX_FOLLOWERS_OF_ACCOUNT = 100;

/** Whether a follower may still follow, asked of the database each time. */
export type StillAuthorized = () => Promise<boolean>;

/**
 * Server-Sent Events: the log from a position on, and then whatever is appended. A follower holds one page at most and reads the
 * next one from the log when its reader has taken it, so a slow reader costs nothing and misses nothing.
 */
export class LiveFeed implements OnModuleDestroy {
  private readonly stopping = new AbortController();
  private readonly followers = new Map<string, number>();
  private readonly reading = new Map<string, Promise<Messages>>();

  constructor(
    private readonly feed: EventFeed,
    private readonly heads: LogHeads,
    private readonly times: FeedTimes = FEED_TIMES,
  ) {}

  /** Connections that stay open would hold up the stop of the service. */
  onModuleDestroy(): void {
    this.stopping.abort();
  }

  /**
   * The stream for one follower. It ends when the service stops, when the follower is not welcome any more, and when `gone`
   * tells that the connection is closed: by itself it would notice that only when it has something to say. Throws Problem
   * 429 when the account has too many followers.
   */
  follow(part: FeedPart, isWelcome: StillAuthorized, gone: AbortSignal): Readable {
    const leave = this.enter(part.accountId);
    const ending = new AbortController();
    const signal = AbortSignal.any([this.stopping.signal, ending.signal, gone]);
    const stream = Readable.from(this.messages(part, signal), { objectMode: false });
    signal.addEventListener('abort', leave, { once: true });
    signal.addEventListener('abort', () => void cutOff(stream), { once: true });
    void endWhenUnwelcome(isWelcome, this.times.checkEveryMs, ending, signal);
    return stream;
  }

  /** @returns what to call when the follower has gone. */
  private enter(accountId: string): () => void {
    const count = this.followers.get(accountId) ?? 0;
    if (count >= MAX_FOLLOWERS_OF_ACCOUNT) {
      throw new Problem('too_many_requests', `The account has ${count} live feeds on this copy already; close one.`);
    }
    this.followers.set(accountId, count + 1);
    return () => {
      const left = (this.followers.get(accountId) ?? 1) - 1;
      if (left > 0) this.followers.set(accountId, left);
      else this.followers.delete(accountId);
    };
  }

  private async *messages(part: FeedPart, signal: AbortSignal): AsyncGenerator<string> {
    let [position, head, heardAt] = [part.span.after, part.span.upTo, Date.now()];
    yield `retry: ${RETRY_MS}\n\n`;
    while (!signal.aborted) {
      let text = '';
      if (position < head) {
        const page = await this.shared({ ...part, span: { after: position, upTo: head } });
        [position, text] = [page.scannedTo, page.text];
      } else head = await this.heads.beyond(part.accountId, position, this.times.checkEveryMs, signal);
      // With its position: who comes back need not go again through what was passed over.
      if (text === '' && Date.now() - heardAt >= this.times.heartbeatMs) text = `: nothing new\nid: ${position}\n\n`;
      if (text === '') continue;
      yield text;
      heardAt = Date.now();
    }
  }

  /** Followers that stand at the same place, as all do who keep up, read together. */
  private shared(part: FeedPart): Promise<Messages> {
    const key = JSON.stringify(part);
    const known = this.reading.get(key);
    if (known !== undefined) return known;
    const page = this.read(part).finally(() => this.reading.delete(key));
    this.reading.set(key, page);
    return page;
  }

  private async read(part: FeedPart): Promise<Messages> {
    const { events, scannedTo } = await this.feed.page(part, MAX_PAGE_EVENTS);
    return { text: events.map(toMessage).join(''), scannedTo };
  }
}

/** The position is the message's id, which a client sends as Last-Event-ID when it comes back. */
const toMessage = ({ position, text }: ShownEvent): string => `id: ${position}\ndata: ${text}\n\n`;

async function endWhenUnwelcome(
  isWelcome: StillAuthorized,
  checkEveryMs: number,
  ending: AbortController,
  signal: AbortSignal,
): Promise<void> {
  while (!signal.aborted) {
    await pause(checkEveryMs, undefined, { ref: false });
    if (!(await isWelcome())) ending.abort();
  }
}

async function cutOff(stream: Readable): Promise<void> {
  await pause(MAX_GOODBYE_MS, undefined, { ref: false });
  stream.destroy();
}
