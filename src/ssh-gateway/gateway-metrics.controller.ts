import { Controller, Get, Res } from '@nestjs/common';
import { RouteConfig } from '@nestjs/platform-fastify';
import type { FastifyReply } from 'fastify';
import { ApiGatewayAnswer, ApiTag } from '../http/openapi/decorators.js';
import { BindDecisionQueue } from './bind-decisions/bind-decision-queue.js';
import { GatewayMetrics } from './gateway-metrics.js';

@ApiTag('SSH gateways')
@Controller('ssh_gateway/metrics')
export class GatewayMetricsController {
  constructor(
    private readonly metrics: GatewayMetrics,
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
      summary: 'Get the metrics of decisions, for Prometheus',
      description: 'Of the copy of the service that answers.',
      parameters: [],
    },
  )
  text(@Res({ passthrough: true }) reply: FastifyReply): Promise<string> {
    void reply.header('content-type', this.metrics.contentType);
    return this.metrics.text();
  }
}
