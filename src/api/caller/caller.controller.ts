import { Controller, Get, Inject, Req } from '@nestjs/common';
import type { FastifyRequest } from 'fastify';
import type { Pool } from 'pg';
import { POOL, queryNamed } from '../../database/index.js';
import { ApiAccountAnswer, ApiTag } from '../http/openapi/decorators.js';
import { callerOf } from '../http/request-context.js';
import { type CallerGateway, CallerResource } from './caller.resource.js';

const NAME = {
  name: 'name_of_caller',
  text: 'select case kind when $3 then name else email end as name from principals where account_id = $1 and id = $2',
};

/** Several runs of one gateway, or gateways behind one balancer, are one entry. */
const GATEWAYS = {
  name: 'gateways_of_account',
  text: `select distinct g.about ->> 'address' as address, coalesce(g.about -> 'host_keys', '[]') as host_keys
    from gateway_runs g where g.lost_at is null and g.about is not null
      and coalesce(g.gateway_account, $1) = $1 order by 1, 2 limit 100`,
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
      queryNamed<CallerGateway>(this.pool, GATEWAYS, [accountId]),
    ]);
    return {
      ...{ id, kind, name: names.rows[0]?.name ?? '', role, account_id: accountId },
      ...{ api_key_id: apiKeyId ?? null, gateways: gateways.rows },
    };
  }
}
