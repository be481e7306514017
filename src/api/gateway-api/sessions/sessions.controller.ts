import { Controller, HttpCode, Post, Req } from '@nestjs/common';
import type { FastifyRequest } from 'fastify';
import { RouteConfig } from '../../http/documentation.js';
import { ApiGatewayAnswer, ApiTag } from '../../http/openapi/decorators.js';
import { gatewayOf } from '../../http/request-context.js';
import { Body } from '../../http/validated-body.js';
import { SessionReport } from './session-report.js';
import { SessionReports } from './session-reports.js';
import { SessionReportAnswer } from './sessions.resource.js';

@ApiTag('SSH gateways')
@Controller('ssh_gateway/sessions')
export class SessionReportsController {
  constructor(private readonly reports: SessionReports) {}

  @Post()
  @HttpCode(200)
  @RouteConfig({ isForGateways: true })
  @ApiGatewayAnswer(SessionReportAnswer, {
    id: 'reportSessions',
    summary: 'Report the sessions and tunnels of a gateway',
    description:
      'A report says what opened and what ended since the last one, and is the heartbeat of the gateway. After 15 s of silence ' +
      'its sessions end as `gateway_lost`. A report counts wholly or not at all, and only once.',
    problems: ['request_malformed', 'gateway_not_yours'],
  })
  report(@Body() report: SessionReport, @Req() request: FastifyRequest): Promise<SessionReportAnswer> {
    return this.reports.take(gatewayOf(request), report);
  }
}
