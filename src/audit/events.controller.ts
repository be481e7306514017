import { Readable } from 'node:stream';
import { negotiate } from '@fastify/accept-negotiator';
import { Controller, Get, Req, Res } from '@nestjs/common';
import type { FastifyReply, FastifyRequest } from 'fastify';
import { type Caller, isAdmin } from '../caller.js';
import { Authenticator } from '../http/authenticator.js';
import { ApiFeed, ApiTag } from '../http/openapi/decorators.js';
import { lastOf, MAX_PAGE_ITEMS, uriWith } from '../http/pages.js';
import { JSON_TYPE } from '../http/problem.filter.js';
import { requestContextOf } from '../http/request-context.js';
import type { Span } from '../log/read/log-reader.js';
import { Problem } from '../problem.js';
import { EventFeed, type FeedPart } from './event-feed.js';
import { EventPageResource, FEED_PARAMETERS } from './events.resource.js';
import { type FeedRequest, readFeedRequest } from './feed-request.js';
import { LiveFeed } from './live-feed.js';

const JSON_LINES = 'application/x-ndjson';
const EVENT_STREAM = 'text/event-stream';

/** The account's log as a feed: in pages, as one long answer, or live. For admins: it tells who did what from where. */
@ApiTag('Audit')
@Controller('events')
export class EventsController {
  constructor(
    private readonly feed: EventFeed,
    private readonly live: LiveFeed,
    private readonly authenticator: Authenticator,
  ) {}

  @Get()
  @ApiFeed(EventPageResource, [JSON_LINES, EVENT_STREAM], {
    id: 'listEvents',
    summary: 'Follow the log',
    description:
      'Every change of the account as a CloudEvent, oldest first. `Accept: application/json` answers a page, ' +
      `\`${JSON_LINES}\` all that match, a line each, and \`${EVENT_STREAM}\` goes on with what happens from now on: ` +
      'its ids are log positions, and `Last-Event-ID` takes it up where it was left.',
    problems: ['role_missing'],
    parameters: FEED_PARAMETERS,
  })
  async events(@Req() request: FastifyRequest, @Res() reply: FastifyReply): Promise<void> {
    const { caller } = requestContextOf(request);
    refuseUnlessAdmin(caller);
    const type = negotiate(request.headers.accept ?? '*/*', ['application/json', JSON_LINES, EVENT_STREAM]);
    if (type === EVENT_STREAM) return this.follow(request, reply, caller);
    const query = readFeedRequest(request.query as Record<string, unknown>);
    const part = partOf(request, caller, query, await this.feed.spanOf(caller, query));
    if (type === JSON_LINES) return sendLines(request, reply, this.feed.lines(part, query.limit));
    void reply.header('content-type', JSON_TYPE).send(await this.page(part, query));
  }

  private async page(part: FeedPart, query: FeedRequest): Promise<string> {
    const limit = query.limit ?? MAX_PAGE_ITEMS;
    const { events, scannedTo } = await this.feed.page(part, limit);
    const uri = `${part.baseUrl}/events`;
    const { streamId: stream, type, actor } = query.filter;
    const { until, asOf: as_of } = query;
    const hasMore = scannedTo < part.span.upTo;
    const next = hasMore ? uriWith(uri, { after: scannedTo, limit, stream, type, actor, until, as_of }) : null;
    const texts = events.map(({ text }) => text).join(',');
    return `{"events":[${texts}],"uri":${JSON.stringify(uri)},"next_page_uri":${JSON.stringify(next)}}`;
  }

  private async follow(request: FastifyRequest, reply: FastifyReply, caller: Caller): Promise<void> {
    const query = readFollowRequest(request);
    const part = partOf(request, caller, query, await this.feed.spanOf(caller, query, 'past'));
    if (request.method === 'HEAD') return void reply.header('content-type', EVENT_STREAM).send('');
    const gone = new AbortController();
    reply.raw.once('close', () => gone.abort());
    const stream = this.live.follow(part, () => this.authenticator.isStillAuthorized(request, caller), gone.signal);
    void reply.header('content-type', EVENT_STREAM).header('x-accel-buffering', 'no').send(stream);
  }
}

function refuseUnlessAdmin(caller: Caller): void {
  if (isAdmin(caller)) return;
  throw new Problem('role_missing', 'Only an admin may read the log: it tells who did what, and from where.');
}

const partOf = (request: FastifyRequest, caller: Caller, { filter }: FeedRequest, span: Span): FeedPart => ({
  accountId: caller.accountId,
  baseUrl: request.baseUrl,
  filter,
  span,
});

/** Who has lost the connection comes back with the id of the last message in place of `after`. */
function readFollowRequest({ query, headers }: FastifyRequest): FeedRequest {
  const given = query as Record<string, unknown>;
  for (const name of ['until', 'as_of', 'limit'].filter((one) => lastOf(given[one]) !== undefined)) {
    throw new Problem('request_malformed', `${name} ends a feed, and ${EVENT_STREAM} goes on; leave it out.`);
  }
  const last = lastOf(headers['last-event-id']);
  return readFeedRequest(last === undefined ? given : { ...given, after: last });
}

/** A reader who takes nothing for that long is gone, or holds up the stop of the service for nothing. */
const MAX_STALL_MS = 60_000;

function sendLines(request: FastifyRequest, reply: FastifyReply, chunks: AsyncIterable<string>): void {
  void reply.header('content-type', JSON_LINES);
  if (request.method === 'HEAD') return void reply.send('');
  // Nobody listens for the timeout: then Node closes the connection.
  reply.raw.setTimeout(MAX_STALL_MS);
  void reply.send(Readable.from(chunks, { objectMode: false }));
}
