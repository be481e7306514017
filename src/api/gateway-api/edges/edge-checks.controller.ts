import { Controller, HttpCode, Param, Post } from '@nestjs/common';
import { RouteConfig } from '../../http/documentation.js';
import { ApiCheck, ApiTag } from '../../http/openapi/decorators.js';
import { ID } from '../../http/openapi/parts.js';
import { Read, type ReadRequest } from '../../http/request-context.js';
import { Body } from '../../http/validated-body.js';
import { EntityQueries } from '../../resources/entity-queries.js';
import { TCP_EDGES } from '../../tcp-edges/tcp-edges.resource.js';
import { decideEdge, policyIdsOf } from './edge-check.js';
import { EdgePolicies } from './edge-policies.js';
import { EdgeCheck, EdgeCheckBody, readSource, toEdgeCheck } from './edges.resource.js';

@ApiTag('Checks', 'edgtcp')
@Controller(TCP_EDGES.path)
export class EdgeChecksController {
  constructor(
    private readonly entities: EntityQueries,
    private readonly policies: EdgePolicies,
  ) {}

  @Post(':id/check')
  @HttpCode(200)
  @RouteConfig({ onlyReads: true })
  @ApiCheck(EdgeCheck, {
    id: 'checkTcpEdge',
    summary: 'Ask whether a TCP edge would let an address in',
    description:
      'Answers by its IP restriction as it is now, and records nothing. A refusal is answered with status 200 too.',
    problems: ['edge_not_found'],
    parameters: [ID],
  })
  async check(
    @Read() { caller, baseUrl }: ReadRequest,
    @Param('id') id: string,
    @Body() { source }: EdgeCheckBody,
  ): Promise<EdgeCheck> {
    const address = readSource(source);
    const edge = await this.entities.find(TCP_EDGES, { accountId: caller.accountId, id });
    if (edge === undefined) throw TCP_EDGES.notFound();
    const rules = await this.policies.deciding(caller.accountId, policyIdsOf(edge), address);
    return toEdgeCheck(decideEdge(edge, rules, address), baseUrl);
  }
}
