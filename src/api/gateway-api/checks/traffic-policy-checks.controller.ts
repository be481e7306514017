import { Controller, HttpCode, Post } from '@nestjs/common';
import { namedBy } from '../../../rules/index.js';
import { RouteConfig } from '../../http/documentation.js';
import { ApiCheck, ApiTag } from '../../http/openapi/decorators.js';
import { Read, type ReadRequest } from '../../http/request-context.js';
import { Body } from '../../http/validated-body.js';
import { EdgePolicies } from '../edges/edge-policies.js';
import { ReadEdges } from '../edges/read-edges.js';
import { readDestination, readSource, serverAt } from '../traffic-policies/endpoints.js';
import { checkTraffic, connectionOf } from '../traffic-policies/traffic-check.js';
import { readValue, TrafficPolicyCheck, TrafficPolicyCheckBody } from '../traffic-policies/traffic-check.resource.js';
import { CheckLimit } from './check-limit.js';

@ApiTag('Checks')
@Controller('traffic_policy')
export class TrafficPolicyChecksController {
  constructor(
    private readonly edges: ReadEdges,
    private readonly ipPolicies: EdgePolicies,
    private readonly limit: CheckLimit,
  ) {}

  @Post('check')
  @HttpCode(200)
  @RouteConfig({ onlyReads: true })
  @ApiCheck(TrafficPolicyCheck, {
    id: 'checkTrafficPolicy',
    summary: 'Ask whether a traffic policy would let a client in',
    description:
      'Answers for the text of the body, and records nothing. A refusal has status 200 too, and so has a text that cannot be read. ' +
      'The IP policies that it names are those of the account. The connection begins now; ' +
      '`endpoint.id` is empty; without a port, that of the client is 0.',
    problems: ['too_many_requests'],
  })
  check(@Read() request: ReadRequest, @Body() body: TrafficPolicyCheckBody): Promise<TrafficPolicyCheck> {
    const [value, client] = [readValue(body), readSource(body.source)];
    const server = body.destination === undefined ? serverAt(client) : readDestination(body.destination);
    return this.limit.run(request, async () => {
      const { accountId } = request.caller;
      const policy = await this.edges.policy(value, accountId);
      const ipPolicies = await this.ipPolicies.deciding(accountId, namedBy(policy), client.address);
      return checkTraffic(policy, connectionOf({ client, server }), ipPolicies, request.baseUrl);
    });
  }
}
