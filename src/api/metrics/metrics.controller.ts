import { Controller, Get, Res } from '@nestjs/common';
import type { FastifyReply } from 'fastify';
import { RouteConfig } from '../http/documentation.js';
import { InstanceMetrics } from './instance-metrics.js';

/** For the operator's Prometheus. It is not a part of the API, so the API's document leaves it out. */
@Controller('metrics')
export class MetricsController {
  constructor(private readonly metrics: InstanceMetrics) {}

  @Get()
  @RouteConfig({ isForMetrics: true })
  text(@Res({ passthrough: true }) reply: FastifyReply): Promise<string> {
    void reply.header('content-type', this.metrics.contentType);
    return this.metrics.text();
  }
}
