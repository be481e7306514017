import { Readable } from 'node:stream';
import { negotiate } from '@fastify/accept-negotiator';
import { Controller, Get, Req, Res } from '@nestjs/common';
import type { FastifyReply, FastifyRequest } from 'fastify';
import { type Caller, isAdmin } from '../caller.js';
import type { Span } from '../event-log/log-reader.js';
import { Authenticator } from '../http/authenticator.js';
import { Feeds, Topic } from '../http/openapi.js';
import { lastOf, MAX_PAGE_ITEMS, uriWith } from '../http/page.js';
import { JSON_TYPE } from '../http/problem.filter.js';
import { requestContextOf } from '../http/request-context.js';
import { Problem } from '../problem.js';
import { EventFeed, type FeedPart } from './event-feed.js';
import { EventPageResource, FEED_PARAMETERS } from './events.resource.js';
import { type FeedRequest, readFeedRequest } from './feed-request.js';
import { LiveFeed } from './live-feed.js';

const JSON_LINES = 'application/x-ndjson';
const EVENT_STREAM = 'text/event-stream';

/** The account's log as a feed: in pages, as one long answer, or live. For admins: it tells who did what from where. */
@Topic('Audit')
@Controller('events')
export class EventsController {
  constructor(
    private readonly feed: EventFeed,
    private readonly live: LiveFeed,
    private readonly authenticator: Authenticator,
  ) {}

  @Get()
  @Feeds(EventPageResource, [JSON_LINES, EVENT_STREAM], {
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
    if (type === JSON_LINES) return void send(request, reply, JSON_LINES, this.feed.lines(part, query.limit));
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
    const part = partOf(request, caller, query, await this.feed.spanOf(caller, query));
    const isWelcome = () => this.authenticator.authenticate(request).then(isAdmin, isNoRefusal);
    if (request.method === 'HEAD') return void send(request, reply, EVENT_STREAM, []);
    void reply.header('content-type', EVENT_STREAM).header('x-accel-buffering', 'no');
    void reply.send(this.live.follow(part, isWelcome));
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
  const last = headers['last-event-id'];
  return readFeedRequest(last === undefined ? given : { ...given, after: last });
}

/** A database that is away says nothing about the key; nothing can be read from it either. */
const isNoRefusal = (error: unknown): boolean => !(error instanceof Problem && error.status < 500);

function send(
  request: FastifyRequest,
  reply: FastifyReply,
  type: string,
  chunks: AsyncIterable<string> | string[],
): void {
  const body = request.method === 'HEAD' ? '' : Readable.from(chunks, { objectMode: false });
  void reply.header('content-type', type).send(body);
}
