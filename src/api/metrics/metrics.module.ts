import { type DynamicModule, Module, type Provider } from '@nestjs/common';
import { HttpAdapterHost } from '@nestjs/core';
import type { Database } from '../../database/index.js';
import { IdSource } from '../../kernel/ids.js';
import type { ListenAddress } from '../../kernel/settings/listen-address.js';
import { AuditModule } from '../audit/audit.module.js';
import { HealthModule } from '../health/health.module.js';
import { InstanceMetrics, MEASURED, type MeasuredProviders } from './instance-metrics.js';
import { MetricsController } from './metrics.controller.js';
import { MetricsListener } from './metrics-listener.js';
import type { MetricsSettings } from './metrics-settings.js';

@Module({})
class MetricsModule {}

/** The module, unless the metrics are closed: then nothing is measured. */
export function metricsModules(
  { metricsToken, metricsAddress }: MetricsSettings,
  { pool, auditReadPool }: Database,
): DynamicModule[] {
  if (metricsToken === undefined && metricsAddress === undefined) return [];
  return [
    {
      module: MetricsModule,
      imports: [AuditModule, HealthModule],
      controllers: metricsToken === undefined ? [] : [MetricsController],
      providers: [
        instanceMetrics({ pool, auditReadPool }),
        ...(metricsAddress === undefined ? [] : [metricsListener(metricsAddress)]),
      ],
    },
  ];
}

const instanceMetrics = (pools: Pick<Database, 'pool' | 'auditReadPool'>): Provider => ({
  provide: InstanceMetrics,
  useFactory: ({ httpAdapter }: HttpAdapterHost, ...provided: readonly object[]) => {
    const named = Object.keys(MEASURED).map((name, n) => [name, provided[n]]);
    const measured: MeasuredProviders = Object.fromEntries(named);
    return new InstanceMetrics({ server: httpAdapter.getInstance(), ...pools, ...measured });
  },
  inject: [HttpAdapterHost, ...Object.values(MEASURED)],
});

const metricsListener = (address: ListenAddress): Provider => ({
  provide: MetricsListener,
  useFactory: (metrics: InstanceMetrics, ids: IdSource) => new MetricsListener(address, metrics, ids),
  inject: [InstanceMetrics, IdSource],
});
