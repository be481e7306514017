import type { FastifyInstance } from 'fastify';
import { collectDefaultMetrics, Gauge, Registry } from 'prom-client';
import { AuditReads, type Database, Incidents } from '../../database/index.js';
import { Checkpoints, EventLog } from '../../event-log/index.js';
import { LineFeed } from '../audit/line-feed.js';
import { LiveFeed } from '../audit/live-feed.js';
import { BindDecisionMetrics } from '../gateway-api/decision-record/bind-decision-metrics.js';
import { type Failures, Readiness } from '../health/readiness.js';
import { readGauges } from '../instance/read-gauges.js';
import { measureAppends } from './append-metrics.js';
import { measurePools } from './database-metrics.js';
import { LogSizes } from './log-size.js';
import { measureRequests } from './request-metrics.js';

/** The providers that the metrics are read from. */
export const MEASURED = {
  log: EventLog,
  auditReads: AuditReads,
  liveFeed: LiveFeed,
  lineFeed: LineFeed,
  readiness: Readiness,
  incidents: Incidents,
  checkpoints: Checkpoints,
  decisions: BindDecisionMetrics,
};
export type MeasuredProviders = { readonly [Name in keyof typeof MEASURED]: (typeof MEASURED)[Name]['prototype'] };

interface Measured extends MeasuredProviders, Pick<Database, 'pool' | 'auditReadPool'> {
  readonly server: FastifyInstance;
}

const CHECKS: readonly (keyof Failures)[] = ['database', 'migrations', 'queue'];

/**
 * The metrics of this instance. Labels are routes, statuses and the like: their number is bounded, and they name no
 * account and no key.
 */
export class InstanceMetrics {
  private readonly registry: Registry;

  constructor(measured: Measured) {
    // All instances of a process would share the default registry of prom-client, and tests have several instances.
    const registry = new Registry();
    measureRequests(measured.server, registry);
    measureAppends(measured.log, registry);
    measurePools(measured, registry);
    measureState(measured, registry);
    measureReadiness(measured.readiness, registry);
    collectDefaultMetrics({ register: registry });
    this.registry = Registry.merge([registry, measured.decisions.registry]);
  }

  /** The metrics in the text format of Prometheus. */
  text(): Promise<string> {
    return this.registry.metrics();
  }

  get contentType(): string {
    return this.registry.contentType;
  }
}

function measureState({ liveFeed, lineFeed, checkpoints, incidents, pool }: Measured, registry: Registry): void {
  const gauge = readGauges(registry);
  const sizes = new LogSizes(pool);
  gauge('tunnel_access_followers', 'Live feeds of the log that are open.', () => liveFeed.openFeeds);
  gauge('tunnel_access_line_readers', 'Answers of /events in lines that are open.', () => lineFeed.openReaders);
  gauge(
    'tunnel_access_cannot_write',
    'Whether the disk of the database is full, so that no change is written: 1 or 0.',
    () => (incidents.cannotWrite === undefined ? 0 : 1),
  );
  gauge(
    'tunnel_access_lost_logs',
    'Logs with an open alarm: signed events, checkpoints or tiles are lost or changed. The same on all instances.',
    () => (checkpoints.keys === undefined ? undefined : checkpoints.lostLogs),
  );
  gauge(
    'tunnel_access_log_events',
    'Events in the logs of all accounts, at most a minute old.',
    async () => (await sizes.current())?.events,
  );
  gauge(
    'tunnel_access_log_bytes',
    'Bytes of the table of events with its indexes, at most a minute old.',
    async () => (await sizes.current())?.bytes,
  );
}

function measureReadiness(readiness: Readiness, registry: Registry): void {
  new Gauge({
    name: 'tunnel_access_ready',
    help: 'Whether the instance passes this check of /readyz: 1 or 0.',
    labelNames: ['check'],
    registers: [registry],
    async collect() {
      const failures: Failures = await readiness.check().catch(() => ({ database: 'the check failed' }));
      for (const check of CHECKS) this.set({ check }, failures[check] === undefined ? 1 : 0);
    },
  });
}
