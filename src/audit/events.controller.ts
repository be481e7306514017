import { Readable } from 'node:stream';
import { negotiate } from '@fastify/accept-negotiator';
import { Controller, Get, Req, Res } from '@nestjs/common';
import type { FastifyReply, FastifyRequest } from 'fastify';
import type { Caller } from '../caller.js';
import { Authenticator } from '../http/authenticator.js';
import { ApiFeed, ApiTag } from '../http/openapi/decorators.js';
import { lastOf, MAX_PAGE_ITEMS, uriWith } from '../http/pages.js';
import { JSON_TYPE } from '../http/problem.filter.js';
import { callerOf } from '../http/request-context.js';
import type { Span } from '../log/read/log-reader.js';
import { Problem } from '../problem.js';
import { refuseUnlessAdmin } from '../resources/access-rules.js';
import { CloudEvents } from './cloud-events.js';
import { EventFeed, type FeedSelection } from './event-feed.js';
import { EventPageResource, FEED_PARAMETERS } from './events.resource.js';
import { type FeedRequest, readFeedRequest } from './feed-request.js';
import { LiveFeed } from './live-feed.js';

const JSON_LINES = 'application/x-ndjson';
const EVENT_STREAM = 'text/event-stream';

/** The account's log as pages, lines or a live stream. It shows who did what from where, so only admins may read it. */
@ApiTag('Audit')
@Controller('events')
export class EventsController {
  constructor(
    private readonly feed: EventFeed,
    private readonly live: LiveFeed,
    private readonly cloudEvents: CloudEvents,
    private readonly authenticator: Authenticator,
  ) {}

  @Get()
  @ApiFeed(EventPageResource, [JSON_LINES, EVENT_STREAM], {
    id: 'listEvents',
    summary: 'Follow the log',
    description:
      'Every change of the account as a CloudEvent, oldest first. `Accept: application/json` asks for a page, ' +
      `\`${JSON_LINES}\` for all matching events, one per line, and \`${EVENT_STREAM}\` for a stream that continues with ` +
      'new events. The ids of the stream are log positions; `Last-Event-ID` resumes it.',
    problems: ['role_missing'],
    parameters: FEED_PARAMETERS,
  })
  async events(@Req() request: FastifyRequest, @Res() reply: FastifyReply): Promise<void> {
    const caller = callerOf(request);
    refuseUnlessAdmin(caller, 'read the log');
    const type = negotiate(request.headers.accept ?? '*/*', ['application/json', JSON_LINES, EVENT_STREAM]);
    if (type === EVENT_STREAM) return this.follow(request, reply, caller);
    const query = readFeedRequest(request.query as Record<string, unknown>, this.cloudEvents.types);
    const selection = selectionOf(request, caller, query, await this.feed.spanOf(caller, query));
    if (type === JSON_LINES) return sendLines(request, reply, this.feed.lines(selection, query.limit));
    void reply.header('content-type', JSON_TYPE).send(await this.page(selection, query));
  }

  private async page(selection: FeedSelection, query: FeedRequest): Promise<string> {
    const limit = query.limit ?? MAX_PAGE_ITEMS;
    const { events, scannedTo } = await this.feed.page(selection, limit);
    const uri = `${selection.baseUrl}/events`;
    const { streamId: stream, type, actor } = query.filter;
    const { until, asOf: as_of } = query;
    const hasMore = scannedTo < selection.span.upTo;
    const next = hasMore ? uriWith(uri, { after: scannedTo, limit, stream, type, actor, until, as_of }) : null;
    const items = events.map(({ line }) => line).join(',');
    return `{"events":[${items}],"uri":${JSON.stringify(uri)},"next_page_uri":${JSON.stringify(next)}}`;
  }

  private async follow(request: FastifyRequest, reply: FastifyReply, caller: Caller): Promise<void> {
    const query = readFollowRequest(request, this.cloudEvents.types);
    const selection = selectionOf(request, caller, query, await this.feed.spanOf(caller, query, 'past'));
    if (request.method === 'HEAD') return void reply.header('content-type', EVENT_STREAM).send('');
    const connection = new AbortController();
    reply.raw.once('close', () => connection.abort());
    const stream = this.live.follow(
      selection,
      () => this.authenticator.isStillAuthorized(request, caller),
      connection.signal,
    );
    void reply.header('content-type', EVENT_STREAM).header('x-accel-buffering', 'no').send(stream);
  }
}

const selectionOf = (request: FastifyRequest, caller: Caller, { filter }: FeedRequest, span: Span): FeedSelection => ({
  accountId: caller.accountId,
  baseUrl: request.baseUrl,
  filter,
  span,
});

/** A client that reconnects sends the id of its last message, which replaces `after`. */
function readFollowRequest({ query, headers }: FastifyRequest, eventTypes: readonly string[]): FeedRequest {
  const parameters = query as Record<string, unknown>;
  for (const name of ['until', 'as_of', 'limit'].filter((one) => lastOf(parameters[one]) !== undefined)) {
    throw new Problem('request_malformed', `${name} cannot limit ${EVENT_STREAM}, which does not end; leave it out.`);
  }
  const last = lastOf(headers['last-event-id']);
  return readFeedRequest(last === undefined ? parameters : { ...parameters, after: last }, eventTypes);
}

/** A reader that stalls for longer is cut off: it may be away, and it would delay the shutdown of the service. */
const MAX_STALL_MS = 60_000;

function sendLines(request: FastifyRequest, reply: FastifyReply, chunks: AsyncIterable<string>): void {
  void reply.header('content-type', JSON_LINES);
  if (request.method === 'HEAD') return void reply.send('');
  // Without a listener for the timeout, Node closes the connection.
  reply.raw.setTimeout(MAX_STALL_MS);
  void reply.send(Readable.from(chunks, { objectMode: false }));
}
