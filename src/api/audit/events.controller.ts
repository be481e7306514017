import { Controller, Get, Req, Res } from '@nestjs/common';
import type { FastifyReply, FastifyRequest } from 'fastify';
import type { Reader } from '../../database/index.js';
import type { Caller } from '../../kernel/caller.js';
import { malformed } from '../../kernel/problem.js';
import { Authenticator } from '../http/authenticator.js';
import { answerStream, EVENT_STREAM } from '../http/event-stream.js';
import { ApiFeed, ApiTag } from '../http/openapi/decorators.js';
import { lastOf, MAX_PAGE_ITEMS, uriWith } from '../http/pages.js';
import { JSON_TYPE } from '../http/problem.filter.js';
import { callerOf, connectionOf, signalOf } from '../http/request-context.js';
import { refuseUnlessReadsEverything } from '../resources/access-rules.js';
import { CloudEvents } from './cloud-events.js';
import { EventFeed } from './event-feed.js';
import { EventPageResource, FEED_PARAMETERS } from './events.resource.js';
import { FEED_FORMATS, feedFormatOf } from './feed-formats.js';
import { type FeedRequest, readFeedRequest } from './feed-request.js';
import { LineFeed } from './line-feed.js';
import { LiveFeed } from './live-feed.js';

const [, BATCH, X_NDJSON, NDJSON] = FEED_FORMATS;

/** The account's log as pages, lines or a live stream. It shows who did what from where, so members may not read it. */
@ApiTag('Audit')
@Controller('events')
export class EventsController {
  constructor(
    private readonly feed: EventFeed,
    private readonly lineFeed: LineFeed,
    private readonly live: LiveFeed,
    private readonly cloudEvents: CloudEvents,
    private readonly authenticator: Authenticator,
  ) {}

  @Get()
  @ApiFeed(EventPageResource, [BATCH, X_NDJSON, NDJSON, EVENT_STREAM], {
    id: 'listEvents',
    summary: 'Follow the log',
    description:
      'Every change of the account as a CloudEvent, oldest first. `Accept: application/json` asks for a page, ' +
      `\`${BATCH}\` for the same page as an array, whose next page the header \`Link\` names, ` +
      `\`${X_NDJSON}\` for all matching events, one per line, and \`${EVENT_STREAM}\` for a stream that continues with ` +
      'new events. The ids of the stream are log positions; `Last-Event-ID` resumes it.',
    problems: ['role_missing', 'log_tail_lost'],
    parameters: FEED_PARAMETERS,
    refusesUnknownParameters: true,
  })
  async events(@Req() request: FastifyRequest, @Res() reply: FastifyReply): Promise<void> {
    const caller = callerOf(request);
    refuseUnlessReadsEverything(caller, 'the log');
    const format = feedFormatOf(request.headers.accept);
    if (format === EVENT_STREAM) return this.follow(request, reply, caller);
    const query = readFeedRequest(request.query as Record<string, unknown>, this.cloudEvents.types);
    if (format === X_NDJSON || format === NDJSON) {
      if (query.withChanges) throw malformed('include is for pages; leave it out of lines.');
      return this.lines(request, reply.header('content-type', format), query);
    }
    const { items, uri, next } = await this.page(request, query);
    if (format === BATCH) {
      void reply.header('content-type', format);
      // The array of a batch has no room for the next page, so a header names it.
      if (next !== null) void reply.header('link', `<${next}>; rel="next"`);
      return void reply.send(items);
    }
    const page = `{"events":${items},"uri":${JSON.stringify(uri)},"next_page_uri":${JSON.stringify(next)}}`;
    void reply.header('content-type', JSON_TYPE).send(page);
  }

  /** A page, with its events as a JSON array. */
  private async page(request: FastifyRequest, query: FeedRequest) {
    const limit = query.limit ?? MAX_PAGE_ITEMS;
    const { events, scannedTo, upTo } = await this.feed.firstPage(readerOf(request), query, limit);
    const uri = `${request.baseUrl}/events`;
    const { streamId: stream, type, actor } = query.filter;
    const { until, asOf: as_of, withChanges } = query;
    const include = withChanges && 'changes';
    const hasMore = scannedTo < upTo;
    const next = hasMore ? uriWith(uri, { after: scannedTo, limit, stream, type, actor, include, until, as_of }) : null;
    return { items: `[${events.map(({ line }) => line).join(',')}]`, uri, next };
  }

  private async lines(request: FastifyRequest, reply: FastifyReply, query: FeedRequest): Promise<void> {
    const reader = readerOf(request);
    const select = () => this.feed.select(reader, query, 'future');
    if (request.method === 'HEAD') return select().then(() => void reply.send(''));
    void reply.send(await this.lineFeed.open(reader, select, query.limit));
  }

  private async follow(request: FastifyRequest, reply: FastifyReply, caller: Caller): Promise<void> {
    const query = readFollowRequest(request, this.cloudEvents.types);
    const selection = await this.feed.select(readerOf(request), query, 'past');
    // Clients open an ended stream anew, but not if the answer is a problem.
    await this.feed.refuseUnreadable(readerOf(request), selection);
    const stillAuthorized = () => this.authenticator.isStillAuthorized(request, caller);
    await answerStream(request, reply, () => this.live.follow(selection, stillAuthorized, connectionOf(reply)));
  }
}

const readerOf = (request: FastifyRequest): Reader => ({
  accountId: callerOf(request).accountId,
  signal: signalOf(request),
});

/** A client that reconnects sends the id of its last message, which replaces `after`. */
function readFollowRequest({ query, headers }: FastifyRequest, eventTypes: readonly string[]): FeedRequest {
  const parameters = query as Record<string, unknown>;
  for (const name of ['until', 'as_of', 'limit', 'include'].filter((one) => lastOf(parameters[one]) !== undefined)) {
    throw malformed(`${name} is not for ${EVENT_STREAM}, which does not end; leave it out.`);
  }
  const last = lastOf(headers['last-event-id']);
  return readFeedRequest(last === undefined ? parameters : { ...parameters, after: last }, eventTypes);
}
