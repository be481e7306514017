import { Module } from '@nestjs/common';
import type { Pool } from 'pg';
import { POOL } from '../database/database.js';
import { Streams } from '../resources/changes.js';
import { BindDecisionQueue } from './bind-decisions/bind-decision-queue.js';
import { GatewayPolicy } from './bind-decisions/gateway-policy.js';
import { GatewayAnswers } from './gateway-answers.js';
import { GatewayMetricsController } from './gateway-metrics.controller.js';
import { GatewayMetrics } from './gateway-metrics.js';
import { SshGatewayController } from './ssh-gateway.controller.js';

/** Imported by the app itself, so that Nest stops it before the database: see BindDecisionQueue. */
@Module({
  controllers: [SshGatewayController, GatewayMetricsController],
  providers: [
    GatewayMetrics,
    {
      provide: BindDecisionQueue,
      useFactory: (pool: Pool, { decisionsQueueLimit }: GatewayPolicy, metrics: GatewayMetrics) =>
        new BindDecisionQueue(pool, decisionsQueueLimit, metrics),
      inject: [POOL, GatewayPolicy, GatewayMetrics],
    },
    {
      provide: GatewayAnswers,
      useFactory: (
        pool: Pool,
        { deniedFingerprints }: GatewayPolicy,
        { ids }: Streams,
        decisions: BindDecisionQueue,
        metrics: GatewayMetrics,
      ) => new GatewayAnswers(pool, deniedFingerprints, ids, decisions, metrics),
      inject: [POOL, GatewayPolicy, Streams, BindDecisionQueue, GatewayMetrics],
    },
  ],
})
export class SshGatewayModule {}
