import { Controller, Get, HttpCode, Post, Query, Req } from '@nestjs/common';
import type { FastifyRequest } from 'fastify';
import { RouteConfig } from '../../http/documentation.js';
import { ApiGatewayAnswer, ApiTag } from '../../http/openapi/decorators.js';
import { queryParameter } from '../../http/openapi/parts.js';
import { gatewayOf } from '../../http/request-context.js';
import { Body } from '../../http/validated-body.js';
import { parseHostport } from '../../tcp-edges/hostport.js';
import { requiredParameter } from '../binds/binds.resource.js';
import { readRequiredParameter } from '../binds/gateway-requests.js';
import { readSource } from '../traffic-policies/endpoints.js';
import { SOURCE } from '../traffic-policies/traffic-check.resource.js';
import { EdgesOfHostports, FindEdgesBody, ListedEdges, readHostports } from './edges.resource.js';
import { GatewayEdges } from './gateway-edges.js';

@ApiTag('SSH gateways')
@Controller('ssh_gateway/edges')
export class GatewayEdgesController {
  constructor(private readonly edges: GatewayEdges) {}

  @Get()
  @RouteConfig({ isForGateways: true })
  @ApiGatewayAnswer(ListedEdges, {
    id: 'findEdges',
    summary: 'Find the TCP edges that list a hostport',
    description:
      'Each edge has the labels of its tunnel group and the rules of the IP policies that its IP restriction and its traffic policy name. With `source`, the answer says whether each edge lets this address in, by both, and leaves out the rules.',
    parameters: [
      requiredParameter('hostport', 'Hostport as `host:port`, in any spelling.', '1.tcp.example.com:20000'),
      queryParameter('source', SOURCE.description, { type: 'string', examples: [SOURCE.example] }),
    ],
    problems: ['request_malformed', 'hostport_malformed', 'hostport_port_out_of_range'],
  })
  async find(@Query() query: Record<string, unknown>, @Req() request: FastifyRequest): Promise<ListedEdges> {
    const { canonical } = parseHostport(readRequiredParameter(query, 'hostport'), 'hostport');
    const source = query.source === undefined ? undefined : readSource(readRequiredParameter(query, 'source'));
    return this.edges.list(gatewayOf(request), canonical, source, request.baseUrl);
  }

  @Post()
  @HttpCode(200)
  @RouteConfig({ isForGateways: true })
  @ApiGatewayAnswer(EdgesOfHostports, {
    id: 'findEdgesOfHostports',
    summary: 'Find the TCP edges that list several hostports',
    description: 'Lists each edge once, with the labels of its tunnel group and the rules of its IP policies.',
    problems: ['request_malformed', 'hostport_malformed', 'hostport_port_out_of_range'],
  })
  findAll(@Body() body: FindEdgesBody, @Req() request: FastifyRequest): Promise<EdgesOfHostports> {
    return this.edges.listAll(gatewayOf(request), readHostports(body), request.baseUrl);
  }
}
