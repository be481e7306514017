import { Injectable } from '@nestjs/common';
import { AuditReads, type Connections, type Reader } from '../../database/index.js';
import { type EventFilter, LogPages, LogPositions, type PageSize, type Span } from '../../event-log/index.js';
import { CloudEvents, type FeedEvent } from './cloud-events.js';
import { changesOf } from './feed-changes.js';
import type { FeedRequest } from './feed-request.js';
import { lostTail } from './lost-tail.js';

/** The most events of a page that has their changes: each holds a value before and after. */
const MAX_EVENTS_WITH_CHANGES = 100;

/** The events of one account that a request selects. */
export interface FeedSelection {
  readonly accountId: string;
  readonly span: Span;
  readonly filter: EventFilter;
}

export interface FeedPage {
  readonly events: readonly FeedEvent[];
  /** Every match up to this position is in `events` or was on an earlier page. */
  readonly scannedTo: number;
}

/** The events of an account, as CloudEvents. */
@Injectable()
export class EventFeed {
  constructor(
    private readonly positions: LogPositions,
    private readonly auditReads: AuditReads,
    private readonly cloudEvents: CloudEvents,
  ) {}

  /** The first page of what a request selects, and the end of the span that it selects. */
  firstPage(reader: Reader, request: FeedRequest, limit: number): Promise<FeedPage & { readonly upTo: number }> {
    return this.auditReads.run(reader, async (connections) => {
      const selection = await this.selectionOf(reader, request, 'future');
      const { withChanges = false } = request;
      const events = withChanges ? Math.min(limit, MAX_EVENTS_WITH_CHANGES) : limit;
      const page = await this.pageOf(connections, selection, { events }, withChanges);
      return { ...page, upTo: selection.span.upTo };
    });
  }

  /**
   * Begins a stream of what a request selects. Throws Problem for a position or time that is malformed or in the
   * future, unless times in the future are allowed.
   */
  select(reader: Reader, request: FeedRequest, allowed: 'past' | 'future'): Promise<FeedSelection> {
    return this.auditReads.run(reader, () => this.selectionOf(reader, request, allowed));
  }

  /** Throws Problem if a stream of this selection would begin with an event that cannot be read. */
  async refuseUnreadable(reader: Reader, selection: FeedSelection): Promise<void> {
    await this.auditReads.run(reader, (connections) =>
      this.pageOf(connections, selection, { events: 1, characters: 1 }),
    );
  }

  /** The next page of a stream. It may be empty, if no event of the span matches. */
  nextPage(selection: FeedSelection, signal: AbortSignal, size: Partial<PageSize> = {}): Promise<FeedPage> {
    const reader = { accountId: selection.accountId, signal };
    return this.auditReads.runAdmitted(reader, (connections) => this.pageOf(connections, selection, size));
  }

  private async selectionOf(
    { accountId }: Reader,
    { after = 0, since, until, asOf, filter }: FeedRequest,
    allowed: 'past' | 'future',
  ): Promise<FeedSelection> {
    const head = await this.positions.head(accountId);
    if (after > head) throw lostTail(after, head);
    const at = (name: string, time: string | undefined, otherwise: number): Promise<number> | number =>
      time === undefined ? otherwise : this.positions.positionAt(accountId, name, time, allowed);
    const [first, last, past] = await Promise.all([
      at('since', since, 0),
      at('until', until, head),
      asOf === undefined ? head : this.positions.positionOf(accountId, 'as_of', asOf),
    ]);
    const span = { after: Math.max(after, first), upTo: Math.min(head, last, past) };
    return { accountId, filter, span };
  }

  private async pageOf(
    connections: Connections,
    { accountId, span, filter }: FeedSelection,
    size: Partial<PageSize>,
    withChanges = false,
  ): Promise<FeedPage> {
    if (span.after >= span.upTo) return { events: [], scannedTo: span.after };
    const { events, scannedTo } = await new LogPages(connections).page(accountId, span, filter, size);
    const changes = withChanges ? await changesOf(connections, events, this.cloudEvents.modelOf) : undefined;
    const lines = this.cloudEvents.linesOf(events, changes);
    const isCut = lines.length < events.length;
    return { events: lines, scannedTo: isCut ? (lines.at(-1)?.position ?? span.after) : scannedTo };
  }
}
