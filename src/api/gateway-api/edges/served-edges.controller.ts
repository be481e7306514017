import { Controller, Get, Query, Req, Res } from '@nestjs/common';
import type { FastifyReply, FastifyRequest } from 'fastify';
import { malformed, quoted } from '../../../kernel/problem.js';
import { canonicalHost, ParseError } from '../../../rules/index.js';
import { RouteConfig } from '../../http/documentation.js';
import { answerStream, EVENT_STREAM } from '../../http/event-stream.js';
import { ApiField, ApiGatewayAnswer, ApiTag } from '../../http/openapi/decorators.js';
import { gatewayOf, signalOf } from '../../http/request-context.js';
import { MAX_HOSTPORT_BYTES } from '../../tcp-edges/hostport.js';
import { requiredParameter } from '../binds/binds.resource.js';
import { readRequiredParameter } from '../binds/gateway-requests.js';
import { gatewayReader } from '../revocations/change-streams.js';
import { EdgeChanges } from './edge-changes.js';
import { EdgePorts } from './edge-ports.js';

const HOST = '1.tcp.example.com';

export class PortsOfHost {
  @ApiField({ description: 'The host, in canonical form.', example: HOST }) host!: string;
  @ApiField({
    description: 'The ports of the host that edges list, in ascending order.',
    type: 'array',
    items: { type: 'integer', minimum: 1, maximum: 65_535 },
    example: [20_000],
  })
  ports!: number[];
}

/** Routes for a gateway that listens on the hostports of edges. */
@ApiTag('SSH gateways')
@Controller('ssh_gateway/edges')
export class ServedEdgesController {
  constructor(
    private readonly edgePorts: EdgePorts,
    private readonly streams: EdgeChanges,
  ) {}

  @Get('ports')
  @RouteConfig({ isForGateways: true })
  @ApiGatewayAnswer(PortsOfHost, {
    id: 'listEdgePorts',
    summary: 'List the ports of a host that TCP edges list',
    parameters: [requiredParameter('host', 'Host, in any spelling.', HOST)],
    problems: ['request_malformed'],
  })
  async ports(@Query() query: Record<string, unknown>, @Req() request: FastifyRequest): Promise<PortsOfHost> {
    const host = readHost(readRequiredParameter(query, 'host'));
    return { host, ports: await this.edgePorts.list(host, gatewayOf(request).accountId) };
  }

  @Get('changes')
  @RouteConfig({ isForGateways: true })
  @ApiGatewayAnswer(
    { contentType: EVENT_STREAM },
    {
      id: 'followEdgeChanges',
      summary: 'Follow the edges whose answers may have changed',
      description:
        'Server-Sent Events, like those of `GET /ssh_gateway/changes`. The data of each event `changed` is ' +
        '`{"account_id": ..., "ids": [...], "hostports": [...]}`: the edges, IP policies and tunnel groups of an account ' +
        'that may have changed, and the hostports that these edges list now. When a reservation is made or deleted, or has rested, ' +
        '`hostports` also has what it concerns, and `ids` may be empty. Ask anew about these hostports, and about the hostports of ' +
        'edges that you hold under such an id or that name one.',
      parameters: [],
    },
  )
  async changes(@Req() request: FastifyRequest, @Res() reply: FastifyReply): Promise<void> {
    await answerStream(request, reply, () => this.streams.open(signalOf(request), gatewayReader(gatewayOf(request))));
  }
}

function readHost(text: string): string {
  if (Buffer.byteLength(text) > MAX_HOSTPORT_BYTES) {
    throw malformed(`host is longer than ${MAX_HOSTPORT_BYTES} bytes.`);
  }
  try {
    return canonicalHost(text);
  } catch (error) {
    if (!(error instanceof ParseError)) throw error;
    throw malformed(`host ${quoted(text)} is not a host: ${error.message}.`);
  }
}
