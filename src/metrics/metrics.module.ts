import { type DynamicModule, Module, type Provider } from '@nestjs/common';
import { HttpAdapterHost } from '@nestjs/core';
import type { FastifyInstance } from 'fastify';
import { AuditModule } from '../audit/audit.module.js';
import { LineFeed } from '../audit/line-feed.js';
import { LiveFeed } from '../audit/live-feed.js';
import type { Database } from '../database/database.js';
import { DearReads } from '../database/dear-reads.js';
import { HealthModule } from '../health/health.module.js';
import { Readiness } from '../health/readiness.js';
import { IdSource } from '../ids.js';
import { EventLog } from '../log/append/event-log.js';
import { Checkpoints } from '../log/seal/checkpoints.js';
import { PositionedReads } from '../resources/positions/positioned-reads.js';
import { BindDecisionMetrics } from '../ssh-gateway/bind-decisions/bind-decision-metrics.js';
import { WorkerGroup } from '../workers/worker-group.js';
import { InstanceMetrics } from './instance-metrics.js';
import { MetricsController } from './metrics.controller.js';
import { MetricsListener } from './metrics-listener.js';
import type { MetricsAddress, MetricsSettings } from './metrics-settings.js';

@Module({})
class MetricsModule {}

/** The module, unless the metrics are closed: then nothing is measured, and no request pays for it. */
export function metricsModules(
  { metricsToken, metricsAddress }: MetricsSettings,
  { pool, dearReadPool }: Database,
): DynamicModule[] {
  if (metricsToken === undefined && metricsAddress === undefined) return [];
  return [
    {
      module: MetricsModule,
      imports: [AuditModule, HealthModule],
      controllers: metricsToken === undefined ? [] : [MetricsController],
      providers: [
        instanceMetrics({ pool, dearReadPool }),
        ...(metricsAddress === undefined ? [] : [metricsListener(metricsAddress)]),
      ],
    },
  ];
}

const instanceMetrics = (pools: Pick<Database, 'pool' | 'dearReadPool'>): Provider => ({
  provide: InstanceMetrics,
  useFactory: (
    { httpAdapter }: HttpAdapterHost,
    log: EventLog,
    dearReads: DearReads,
    positioned: PositionedReads,
    liveFeed: LiveFeed,
    lineFeed: LineFeed,
    readiness: Readiness,
    checkpoints: Checkpoints,
    decisions: BindDecisionMetrics,
    group: WorkerGroup,
  ) => {
    const server: FastifyInstance = httpAdapter.getInstance();
    return new InstanceMetrics({
      server,
      ...pools,
      log,
      dearReads,
      positioned,
      liveFeed,
      lineFeed,
      readiness,
      checkpoints,
      decisions,
      group,
    });
  },
  inject: [
    HttpAdapterHost,
    EventLog,
    DearReads,
    PositionedReads,
    LiveFeed,
    LineFeed,
    Readiness,
    Checkpoints,
    BindDecisionMetrics,
    WorkerGroup,
  ],
});

const metricsListener = (address: MetricsAddress): Provider => ({
  provide: MetricsListener,
  useFactory: (metrics: InstanceMetrics, ids: IdSource) => new MetricsListener(address, metrics, ids),
  inject: [InstanceMetrics, IdSource],
});
