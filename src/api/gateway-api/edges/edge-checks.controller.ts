import { Controller, HttpCode, Param, Post } from '@nestjs/common';
import { UnreadablePolicy } from '../../../rules/index.js';
import { RouteConfig } from '../../http/documentation.js';
import { ApiCheck, ApiTag } from '../../http/openapi/decorators.js';
import { ID } from '../../http/openapi/parts.js';
import { Read, type ReadRequest } from '../../http/request-context.js';
import { Body } from '../../http/validated-body.js';
import { addressTarget, ReservedNames } from '../../reservations/reserved-names.js';
import { TCP_EDGES } from '../../tcp-edges/tcp-edges.resource.js';
import { CheckLimit } from '../checks/check-limit.js';
import { readDestination, readSource, serverAt } from '../traffic-policies/endpoints.js';
import { type BeyondMaximum, beyondMaximum } from './closed-edge.js';
import { checkEdge } from './edge-check.js';
import { EdgePolicies } from './edge-policies.js';
import { EdgeCheckBody, NotServedHostport, TcpEdgeCheck } from './edges.resource.js';
import { type ReadEdge, ReadEdges } from './read-edges.js';

@ApiTag('Checks', 'edgtcp')
@Controller(TCP_EDGES.path)
export class EdgeChecksController {
  constructor(
    private readonly edges: ReadEdges,
    private readonly policies: EdgePolicies,
    private readonly reserved: ReservedNames,
    private readonly limit: CheckLimit,
  ) {}

  @Post(':id/check')
  @HttpCode(200)
  @RouteConfig({ onlyReads: true })
  @ApiCheck(TcpEdgeCheck, {
    id: 'checkTcpEdge',
    summary: 'Ask whether a TCP edge would let an address in',
    description:
      'Answers by its IP restriction and then by its traffic policy, as they are now, and records nothing. A refusal is ' +
      'answered with status 200 too. The connection begins now; without a port, that of the client is 0. ' +
      '`not_served` has the hostports at which no gateway serves the edge, whatever the address is.',
    problems: ['edge_not_found', 'too_many_requests'],
    parameters: [ID],
  })
  check(
    @Read() request: ReadRequest,
    @Param('id') id: string,
    @Body() { source, destination }: EdgeCheckBody,
  ): Promise<TcpEdgeCheck> {
    const client = readSource(source);
    const given = destination === undefined ? undefined : readDestination(destination);
    return this.limit.run(request, async () => {
      const { accountId } = request.caller;
      const read = await this.edges.find({ accountId, id });
      if (read === undefined) throw TCP_EDGES.notFound();
      const [ipPolicies, hasTooManyRules] = await Promise.all([
        this.policies.deciding(accountId, read.policyIds, client.address),
        this.policies.areTooMany(accountId, read.policyIds),
      ]);
      const beyond = beyondMaximum(read.edge, hasTooManyRules);
      const server = given ?? serverAt(client, read.edge.hostports[0]?.canonical);
      const check = checkEdge(read, ipPolicies, beyond, { client, server }, request.baseUrl);
      return { ...check, not_served: await this.notServed(accountId, read, beyond) };
    });
  }

  private async notServed(
    accountId: string,
    { edge: { hostports }, trafficPolicy }: ReadEdge,
    beyond: BeyondMaximum | undefined,
  ): Promise<NotServedHostport[]> {
    const closed = beyond ?? (trafficPolicy instanceof UnreadablePolicy ? 'traffic_policy_unreadable' : undefined);
    const { refusalOf } = await this.reserved.read(hostports.map(({ canonical }) => addressTarget(canonical)));
    return hostports.flatMap(({ text, canonical }) => {
      const reason = refusalOf(accountId, addressTarget(canonical)) ?? closed;
      return reason === undefined ? [] : [{ hostport: text, reason }];
    });
  }
}
