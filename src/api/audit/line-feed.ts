import { Readable } from 'node:stream';
import { Injectable, Optional } from '@nestjs/common';
import { type Reader, refuseLater } from '../../database/index.js';
import type { PageSize } from '../../event-log/index.js';
import { KeyedQueue } from '../../kernel/keyed-queue.js';
import { Places } from '../../kernel/places.js';
import { EventFeed, type FeedPage, type FeedSelection } from './event-feed.js';
import { textOfUnreadable } from './unreadable-event.js';

/** The media type of lines that are not CloudEvents. */
export const NDJSON = 'application/x-ndjson';

/** Small, since a reader that stalls holds up to three of them. */
const CHUNK = { events: 500, characters: 256 * 1024 };
/** A reader that takes no chunk for longer is cut off: it may be away, and it would delay the stop of the service. */
const MAX_STALL_MS = 60_000;
const MAX_READERS_PER_ACCOUNT = 20;
const TOO_MANY = `The account already has ${MAX_READERS_PER_ACCOUNT} readers of lines on this instance; close one.`;

/** Where the lines come from: the feed itself, or the export. */
export interface LinePages {
  nextPage(selection: FeedSelection, signal: AbortSignal, size: PageSize): Promise<FeedPage>;
}

/** The log as lines: every event that a request selects, oldest first. A reader holds no connection while it stalls. */
@Injectable()
export class LineFeed {
  private readonly readers = new Places([Number.POSITIVE_INFINITY, MAX_READERS_PER_ACCOUNT]);
  /** An account makes one chunk at a time: making lines keeps the event loop busy, and neighbours wait for it. */
  private readonly chunks = new KeyedQueue();

  constructor(
    private readonly feed: EventFeed,
    @Optional() private readonly maxStallMs = MAX_STALL_MS,
  ) {}

  /** Readers of lines in this process. */
  get openReaders(): number {
    return this.readers.held();
  }

  /** Runs `select` as a reader of its account. Throws Problem 429 if the account has too many readers. */
  async open(
    reader: Reader,
    select: () => Promise<FeedSelection>,
    limit: number | undefined,
    pages: LinePages = this.feed,
  ): Promise<Readable> {
    const leave = await this.enter(reader);
    try {
      const ending = new AbortController();
      const lines = this.lines(pages, await select(), limit ?? Number.POSITIVE_INFINITY, ending.signal);
      const stream = Readable.from(
        this.unlessStalled(lines, () => stream.destroy()),
        { objectMode: false },
      );
      stream.once('close', () => {
        leave();
        ending.abort();
      });
      return stream;
    } catch (error) {
      leave();
      throw error;
    }
  }

  private async enter({ accountId, signal }: Reader): Promise<() => void> {
    try {
      return this.readers.enter([accountId], TOO_MANY);
    } catch (refusal) {
      return refuseLater(refusal, signal);
    }
  }

  /**
   * Chunks of lines. The last line may be the problem that an event cannot be read. It reads the next chunk while the
   * reader takes the last one.
   */
  private async *lines(
    pages: LinePages,
    selection: FeedSelection,
    limit: number,
    signal: AbortSignal,
  ): AsyncGenerator<string> {
    let left = limit;
    const read = (after: number): Promise<FeedPage> => {
      const size = { ...CHUNK, events: Math.min(CHUNK.events, left) };
      const from = { ...selection, span: { ...selection.span, after } };
      const page = this.chunks.run(selection.accountId, () => pages.nextPage(from, signal, size));
      // A reader that goes away never awaits this page.
      page.catch(() => undefined);
      return page;
    };
    let next: Promise<FeedPage> | undefined = read(selection.span.after);
    while (next !== undefined) {
      const page: FeedPage | string = await next.catch(textOfUnreadable);
      if (typeof page === 'string') return yield `${page}\n`;
      const { events, scannedTo }: FeedPage = page;
      left -= events.length;
      next = left > 0 && scannedTo < selection.span.upTo ? read(scannedTo) : undefined;
      if (events.length > 0) yield `${events.map(({ line }) => line).join('\n')}\n`;
    }
  }

  /** The stream asks for the next chunk when the reader has taken the last one but one. */
  private async *unlessStalled(chunks: AsyncIterable<string>, cutOff: () => void): AsyncGenerator<string> {
    for await (const chunk of chunks) {
      const stalled = setTimeout(cutOff, this.maxStallMs);
      try {
        yield chunk;
      } finally {
        clearTimeout(stalled);
      }
    }
  }
}
