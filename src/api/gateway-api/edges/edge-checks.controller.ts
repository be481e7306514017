import { Controller, HttpCode, Param, Post } from '@nestjs/common';
import { RouteConfig } from '../../http/documentation.js';
import { ApiCheck, ApiTag } from '../../http/openapi/decorators.js';
import { ID } from '../../http/openapi/parts.js';
import { Read, type ReadRequest } from '../../http/request-context.js';
import { Body } from '../../http/validated-body.js';
import { addressTarget, ReservedNames } from '../../reservations/reserved-names.js';
import { EntityQueries } from '../../resources/entity-queries.js';
import type { TcpEdge } from '../../tcp-edges/tcp-edge.js';
import { TCP_EDGES } from '../../tcp-edges/tcp-edges.resource.js';
import { decideEdge, policyIdsOf } from './edge-check.js';
import { EdgePolicies } from './edge-policies.js';
import { EdgeCheckBody, NotServedHostport, readSource, TcpEdgeCheck, toEdgeCheck } from './edges.resource.js';

@ApiTag('Checks', 'edgtcp')
@Controller(TCP_EDGES.path)
export class EdgeChecksController {
  constructor(
    private readonly entities: EntityQueries,
    private readonly policies: EdgePolicies,
    private readonly reserved: ReservedNames,
  ) {}

  @Post(':id/check')
  @HttpCode(200)
  @RouteConfig({ onlyReads: true })
  @ApiCheck(TcpEdgeCheck, {
    id: 'checkTcpEdge',
    summary: 'Ask whether a TCP edge would let an address in',
    description:
      'Answers by its IP restriction as it is now, and records nothing. A refusal is answered with status 200 too. ' +
      '`not_served` has the hostports at which no gateway serves the edge, whatever the address is.',
    problems: ['edge_not_found'],
    parameters: [ID],
  })
  async check(
    @Read() { caller, baseUrl }: ReadRequest,
    @Param('id') id: string,
    @Body() { source }: EdgeCheckBody,
  ): Promise<TcpEdgeCheck> {
    const address = readSource(source);
    const edge = await this.entities.find(TCP_EDGES, { accountId: caller.accountId, id });
    if (edge === undefined) throw TCP_EDGES.notFound();
    const [rules, not_served] = await Promise.all([
      this.policies.deciding(caller.accountId, policyIdsOf(edge), address),
      this.notServed(caller.accountId, edge),
    ]);
    return { ...toEdgeCheck(decideEdge(edge, rules, address), baseUrl), not_served };
  }

  private async notServed(accountId: string, { hostports }: TcpEdge): Promise<NotServedHostport[]> {
    const { judge } = await this.reserved.read(hostports.map(({ canonical }) => addressTarget(canonical)));
    return hostports.flatMap(({ text, canonical }) => {
      const reason = judge(accountId, addressTarget(canonical));
      return reason === undefined ? [] : [{ hostport: text, reason }];
    });
  }
}
