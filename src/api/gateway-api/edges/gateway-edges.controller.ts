import { Controller, Get, HttpCode, Post, Query, Req } from '@nestjs/common';
import type { FastifyRequest } from 'fastify';
import { RouteConfig } from '../../http/documentation.js';
import { ApiGatewayAnswer, ApiTag } from '../../http/openapi/decorators.js';
import { EXAMPLE_TIME, queryParameter } from '../../http/openapi/parts.js';
import { gatewayOf } from '../../http/request-context.js';
import { Body } from '../../http/validated-body.js';
import { parseTime } from '../../resources/expiry/expiry.js';
import { parseHostport } from '../../tcp-edges/hostport.js';
import { requiredParameter } from '../binds/binds.resource.js';
import { readRequiredParameter } from '../binds/gateway-requests.js';
import { readDestination, readSource, serverAt } from '../traffic-policies/endpoints.js';
import type { AskedConnection } from '../traffic-policies/traffic-check.js';
import { DESTINATION, SOURCE } from '../traffic-policies/traffic-check.resource.js';
import { EdgeOfHostport, EdgesOfHostports, FindEdgesBody, readHostports } from './edges.resource.js';
import { GatewayEdges } from './gateway-edges.js';

@ApiTag('SSH gateways')
@Controller('ssh_gateway/edges')
export class GatewayEdgesController {
  constructor(private readonly edges: GatewayEdges) {}

  @Get()
  @RouteConfig({ isForGateways: true })
  @ApiGatewayAnswer(EdgeOfHostport, {
    id: 'findEdge',
    summary: 'Find the TCP edge that is served at a hostport',
    description:
      'The edge has the labels of its tunnel group and the rules of the IP policies that its IP restriction and its traffic policy name. With `source`, the answer says whether the edge lets this address in, by both, and leaves out the rules.',
    parameters: [
      requiredParameter('hostport', 'Hostport as `host:port`, in any spelling.', '1.tcp.example.com:20000'),
      queryParameter('source', SOURCE.description, { type: 'string', examples: [SOURCE.example] }),
      queryParameter(
        'destination',
        `With \`source\`: ${DESTINATION.description} Absent: \`0.0.0.0\` or \`::\`, and the port of the hostport.`,
        { type: 'string', examples: [DESTINATION.example] },
      ),
      queryParameter(
        'started_at',
        'With `source`: when the connection began, for `conn.ts.start`, as an RFC 3339 time. Absent: it begins now.',
        { type: 'string', format: 'date-time', examples: [EXAMPLE_TIME] },
      ),
    ],
    problems: ['request_malformed', 'hostport_malformed', 'hostport_port_out_of_range'],
  })
  async find(@Query() query: Record<string, unknown>, @Req() request: FastifyRequest): Promise<EdgeOfHostport> {
    const { canonical } = parseHostport(readRequiredParameter(query, 'hostport'), 'hostport');
    return this.edges.list(gatewayOf(request), canonical, readAsked(query, canonical), request.baseUrl);
  }

  @Post()
  @HttpCode(200)
  @RouteConfig({ isForGateways: true })
  @ApiGatewayAnswer(EdgesOfHostports, {
    id: 'findEdgesOfHostports',
    summary: 'Find the TCP edges that are served at several hostports',
    description: 'Lists each edge once, with the labels of its tunnel group and the rules of its IP policies.',
    problems: ['request_malformed', 'hostport_malformed', 'hostport_port_out_of_range'],
  })
  findAll(@Body() body: FindEdgesBody, @Req() request: FastifyRequest): Promise<EdgesOfHostports> {
    return this.edges.listAll(gatewayOf(request), readHostports(body), request.baseUrl);
  }
}

/** Undefined without `source`. Throws request_malformed. */
function readAsked(query: Record<string, unknown>, hostport: string): AskedConnection | undefined {
  const given = (name: string): string | undefined =>
    query[name] === undefined ? undefined : readRequiredParameter(query, name);
  const [source, destination, started] = [given('source'), given('destination'), given('started_at')];
  const server = destination === undefined ? undefined : readDestination(destination);
  // A plus sign of an offset comes as a blank if it was not encoded.
  const startedAt = started === undefined ? undefined : parseTime('started_at', started.replace(' ', '+'));
  if (source === undefined) return undefined;
  const client = readSource(source);
  return { client, server: server ?? serverAt(client, hostport), startedAt };
}
