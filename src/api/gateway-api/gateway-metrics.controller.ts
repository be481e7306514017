import { Controller, Get, Req, Res } from '@nestjs/common';
import type { FastifyReply, FastifyRequest } from 'fastify';
import { RouteConfig } from '../http/documentation.js';
import { ApiGatewayAnswer, ApiTag } from '../http/openapi/decorators.js';
import { gatewayOf } from '../http/request-context.js';
import { BindDecisionMetrics } from './decision-record/bind-decision-metrics.js';
import { BindDecisionQueue } from './decision-record/bind-decision-queue.js';

@ApiTag('SSH gateways')
@Controller('ssh_gateway/metrics')
export class GatewayMetricsController {
  constructor(
    private readonly metrics: BindDecisionMetrics,
    queue: BindDecisionQueue,
  ) {
    metrics.watchQueue(() => queue.length);
  }

  @Get()
  @RouteConfig({ isForGateways: true })
  @ApiGatewayAnswer(
    { contentType: 'text/plain' },
    {
      id: 'getGatewayMetrics',
      summary: 'Get the metrics of bind decisions, for Prometheus',
      description:
        'Each instance of the service has its own metrics. These are the metrics of the instance that answers. A gateway ' +
        'that serves one account gets the number of its own decisions alone.',
      parameters: [],
    },
  )
  text(@Req() request: FastifyRequest, @Res({ passthrough: true }) reply: FastifyReply): Promise<string> {
    void reply.header('content-type', this.metrics.contentType);
    return this.metrics.textFor(gatewayOf(request));
  }
}
