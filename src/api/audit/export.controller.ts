import { Controller, Get, Req, Res } from '@nestjs/common';
import type { FastifyReply, FastifyRequest } from 'fastify';
import { ApiAccountAnswer, ApiTag } from '../http/openapi/decorators.js';
import { AFTER, EVENT_LIMIT } from '../http/openapi/parts.js';
import { callerOf, signalOf } from '../http/request-context.js';
import { refuseUnlessReadsEverything } from '../resources/access-rules.js';
import { EventFeed } from './event-feed.js';
import { readFeedRequest } from './feed-request.js';
import { LineFeed, NDJSON } from './line-feed.js';
import { LogExport } from './log-export.js';

/** The log as a file, for who proves it without the database. */
@ApiTag('Evidence')
@Controller('log/export')
export class ExportController {
  constructor(
    private readonly feed: EventFeed,
    private readonly lines: LineFeed,
    private readonly pages: LogExport,
  ) {}

  @Get()
  @ApiAccountAnswer(
    { contentType: NDJSON },
    {
      id: 'exportLog',
      summary: 'Export the log',
      description:
        'A line of JSON for each event, as `audit export` writes it: what its leaf hash is made of. An event with a hash of ' +
        'an API key has its position, its leaf hash and `hidden: true` alone.',
      problems: ['role_missing', 'log_tail_lost', 'cursor_malformed', 'limit_out_of_range', 'limit_not_a_number'],
      refusesUnknownParameters: true,
    },
    AFTER,
    EVENT_LIMIT,
  )
  async export(@Req() request: FastifyRequest, @Res() reply: FastifyReply): Promise<void> {
    const caller = callerOf(request);
    refuseUnlessReadsEverything(caller, 'the log');
    const query = readFeedRequest(request.query as Record<string, unknown>, []);
    const reader = { accountId: caller.accountId, signal: signalOf(request) };
    const select = () => this.feed.select(reader, query, 'past');
    void reply.header('content-type', NDJSON);
    if (request.method === 'HEAD') return select().then(() => void reply.send(''));
    void reply.send(await this.lines.open(reader, select, query.limit, this.pages));
  }
}
