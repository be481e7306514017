import { Controller, HttpCode, Param, Post } from '@nestjs/common';
import type { Past } from '../../../event-log/index.js';
import { UnreadablePolicy } from '../../../rules/index.js';
import { RouteConfig } from '../../http/documentation.js';
import { ApiCheck, ApiTag } from '../../http/openapi/decorators.js';
import { ID } from '../../http/openapi/parts.js';
import { Read, type ReadRequest } from '../../http/request-context.js';
import { Body } from '../../http/validated-body.js';
import { addressTarget, ReservedNames } from '../../reservations/reserved-names.js';
import type { Expiring } from '../../resources/expiry/expiry.js';
import { foundIn, Reads } from '../../resources/reads.js';
import { TCP_EDGES } from '../../tcp-edges/tcp-edges.resource.js';
import { NOT_CONSIDERED_OF_EDGES } from '../checks/as-of.resource.js';
import { CheckLimit } from '../checks/check-limit.js';
import { type Endpoint, readDestination, readSource, serverAt } from '../traffic-policies/endpoints.js';
import { type BeyondMaximum, beyondMaximum } from './closed-edge.js';
import { checkEdge } from './edge-check.js';
import { EdgePolicies } from './edge-policies.js';
import { EdgeCheckBody, EXPIRED, NotServedHostport, TcpEdgeCheck } from './edges.resource.js';
import { LoggedPolicies } from './logged-policies.js';
import { type ReadEdge, ReadEdges } from './read-edges.js';

/** A check asks and changes nothing, so the clock of the service will do. */
const isExpired = ({ expires_at }: Expiring, past: Past | undefined): boolean =>
  expires_at != null && expires_at.getTime() <= (past?.moment.timeMs ?? Date.now());

@ApiTag('Checks', 'edgtcp')
@Controller(TCP_EDGES.path)
export class EdgeChecksController {
  constructor(
    private readonly edges: ReadEdges,
    private readonly policies: EdgePolicies,
    private readonly reserved: ReservedNames,
    private readonly limit: CheckLimit,
    private readonly reads: Reads,
  ) {}

  @Post(':id/check')
  @HttpCode(200)
  @RouteConfig({ onlyReads: true })
  @ApiCheck(TcpEdgeCheck, {
    id: 'checkTcpEdge',
    summary: 'Ask whether a TCP edge would let an address in',
    description:
      'Answers by its IP restriction and then by its traffic policy, and records nothing. A refusal has status 200. ' +
      'The connection begins now, or at `as_of`; without a port, that of the client is 0.',
    problems: ['edge_not_found', 'too_many_requests', 'conflict', 'event_unreadable'],
    parameters: [ID],
  })
  check(
    @Read() request: ReadRequest,
    @Param('id') id: string,
    @Body() { source, destination, as_of }: EdgeCheckBody,
  ): Promise<TcpEdgeCheck> {
    const client = readSource(source);
    const asked = { client, given: destination === undefined ? undefined : readDestination(destination) };
    if (as_of !== undefined) {
      return this.reads.asOf(request, as_of, async (past) => {
        const read = await this.edges.read(await foundIn(past, TCP_EDGES, id));
        const check = await this.answer(request, read, asked, new LoggedPolicies(past), past);
        return { ...check, not_considered: NOT_CONSIDERED_OF_EDGES };
      });
    }
    return this.limit.run(request, async () => {
      const read = await this.edges.find({ accountId: request.caller.accountId, id });
      if (read === undefined) throw TCP_EDGES.notFound();
      return this.answer(request, read, asked, this.policies);
    });
  }

  private async answer(
    { caller: { accountId }, baseUrl }: ReadRequest,
    read: ReadEdge,
    { client, given }: { readonly client: Endpoint; readonly given: Endpoint | undefined },
    policies: Pick<EdgePolicies, 'deciding' | 'areTooMany'>,
    past?: Past,
  ): Promise<TcpEdgeCheck> {
    const [ipPolicies, hasTooManyRules] = await Promise.all([
      policies.deciding(accountId, read.policyIds, client.address),
      policies.areTooMany(accountId, read.policyIds),
    ]);
    const beyond = beyondMaximum(read.edge, hasTooManyRules);
    const server = given ?? serverAt(client, read.edge.hostports[0]?.canonical);
    const nowMs = past?.moment.timeMs;
    const startedAt = nowMs === undefined ? undefined : new Date(nowMs);
    const check = checkEdge(read, ipPolicies, beyond, { client, server, startedAt, nowMs }, baseUrl);
    return { ...check, not_served: await this.notServed(accountId, read, beyond, past) };
  }

  private async notServed(
    accountId: string,
    { edge, trafficPolicy }: ReadEdge,
    beyond: BeyondMaximum | undefined,
    past: Past | undefined,
  ): Promise<NotServedHostport[]> {
    const closed =
      (isExpired(edge, past) ? EXPIRED : beyond) ??
      (trafficPolicy instanceof UnreadablePolicy ? 'traffic_policy_unreadable' : undefined);
    const { hostports } = edge;
    const targets = hostports.map(({ canonical }) => addressTarget(canonical));
    const { refusalOf } = await (past === undefined
      ? this.reserved.read(targets)
      : this.reserved.readPast(past, targets));
    return hostports.flatMap(({ text, canonical }) => {
      const reason = refusalOf(accountId, addressTarget(canonical)) ?? closed;
      return reason === undefined ? [] : [{ hostport: text, reason }];
    });
  }
}
