import { Controller, Get, Query, Req, Res } from '@nestjs/common';
import type { FastifyReply, FastifyRequest } from 'fastify';
import { AuditReads } from '../../database/index.js';
import { RECORD_TABLES, RecordPages } from '../../event-log/index.js';
import { malformed } from '../../kernel/problem.js';
import { ApiAccountAnswer, ApiTag } from '../http/openapi/decorators.js';
import { EXAMPLE_TIME, queryParameter } from '../http/openapi/parts.js';
import { lastOf } from '../http/pages.js';
import { callerOf, signalOf } from '../http/request-context.js';
import { refuseUnlessReadsEverything } from '../resources/access-rules.js';
import { parseTime } from '../resources/expiry/expiry.js';
import { LineFeed, type LinePages, NDJSON } from './line-feed.js';

type Sent = Readonly<Record<string, unknown>>;

const time = (name: string, description: string) =>
  queryParameter(
    name,
    description,
    { type: 'string', format: 'date-time', examples: [EXAMPLE_TIME] },
    { required: true },
  );

/** The records as lines, for who compares them with what was sealed. */
@ApiTag('Evidence')
@Controller('log/records')
export class RecordsController {
  constructor(
    private readonly auditReads: AuditReads,
    private readonly lines: LineFeed,
  ) {}

  @Get()
  @ApiAccountAnswer(
    { contentType: NDJSON },
    {
      id: 'exportRecords',
      summary: 'Export records',
      description:
        'Lines as `audit export --all` writes them, kind by kind, by id. `records_sealed.v1` has their hashes.',
      problems: ['role_missing', 'request_malformed'],
      refusesUnknownParameters: true,
    },
    time('from', 'As the event has it.'),
    time('to', 'As the event has it.'),
  )
  async export(@Req() request: FastifyRequest, @Res() reply: FastifyReply, @Query() query: Sent): Promise<void> {
    const caller = callerOf(request);
    refuseUnlessReadsEverything(caller, 'tunnel records');
    const [from, to] = [readBound(query, 'from'), readBound(query, 'to')];
    void reply.header('content-type', NDJSON);
    if (request.method === 'HEAD') return void reply.send('');
    const { accountId } = caller;
    const pages = this.pagesOf(RECORD_TABLES.map((table) => new RecordPages(table, { accountId, from, to })));
    const selection = { accountId, span: { after: 0, upTo: RECORD_TABLES.length }, filter: {} };
    const reader = { accountId, signal: signalOf(request) };
    const select = () => this.auditReads.run(reader, async () => selection);
    void reply.send(await this.lines.open(reader, select, undefined, pages));
  }

  /** The positions of this feed are those of the kinds. */
  private pagesOf(kinds: readonly RecordPages[]): LinePages {
    return {
      nextPage: async ({ accountId, span }, signal, { events, characters }) => {
        const kind = kinds[span.after];
        const lines = await this.auditReads.runAdmitted({ accountId, signal }, async (connections) =>
          kind === undefined ? [] : kind.next(connections, { rows: events, characters }),
        );
        const position = lines.length === 0 ? span.after + 1 : span.after;
        return { events: lines.map(({ line }) => ({ position, line })), scannedTo: position };
      },
    };
  }
}

function readBound(query: Sent, name: string): string {
  const text = lastOf(query[name]);
  if (text === undefined) throw malformed(`${name} is missing: give it a time such as ${EXAMPLE_TIME}.`);
  return parseTime(name, text.replace(' ', '+')).toISOString();
}
