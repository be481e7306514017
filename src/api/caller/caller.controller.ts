import { Controller, Get, Inject, Req } from '@nestjs/common';
import type { FastifyRequest } from 'fastify';
import type { Pool } from 'pg';
import { POOL, queryNamed } from '../../database/index.js';
import { ApiAccountAnswer, ApiTag } from '../http/openapi/decorators.js';
import { callerOf } from '../http/request-context.js';
import { CallerResource } from './caller.resource.js';
import { gatewaysOf } from './gateways.js';

const NAME = {
  name: 'name_of_caller',
  text: 'select case kind when $3 then name else email end as name from principals where account_id = $1 and id = $2',
};

/** Who calls, and where to connect: what a client needs before its first change. */
@ApiTag('Caller')
@Controller('caller')
export class CallerController {
  constructor(@Inject(POOL) private readonly pool: Pool) {}

  @Get()
  @ApiAccountAnswer(CallerResource, {
    id: 'getCaller',
    summary: 'Get who calls',
    description: 'The user or bot whose API key was sent, and the gateways that serve its account.',
  })
  async get(@Req() request: FastifyRequest): Promise<CallerResource> {
    const { principalId: id, kind, role, accountId, apiKeyId } = callerOf(request);
    const [names, gateways] = await Promise.all([
      queryNamed<{ name: string }>(this.pool, NAME, [accountId, id, 'bot']),
      gatewaysOf(this.pool, accountId),
    ]);
    return {
      ...{ id, kind, name: names.rows[0]?.name ?? '', role, account_id: accountId },
      ...{ api_key_id: apiKeyId ?? null, gateways },
    };
  }
}
