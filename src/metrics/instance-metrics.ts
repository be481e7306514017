import type { FastifyInstance } from 'fastify';
import { collectDefaultMetrics, Gauge, Registry } from 'prom-client';
import type { LineFeed } from '../audit/line-feed.js';
import type { LiveFeed } from '../audit/live-feed.js';
import type { DearReads } from '../database/dear-reads.js';
import type { PrimaryPool } from '../database/primary-pool.js';
import type { Failures, Readiness } from '../health/readiness.js';
import type { EventLog } from '../log/append/event-log.js';
import type { Checkpoints } from '../log/seal/checkpoints.js';
import type { PositionedReads } from '../resources/positions/positioned-reads.js';
import type { BindDecisionMetrics } from '../ssh-gateway/bind-decisions/bind-decision-metrics.js';
import type { WorkerGroup } from '../workers/worker-group.js';
import { measureAppends } from './append-metrics.js';
import { measurePools, measurePositionedReads } from './database-metrics.js';
import { LogSizes } from './log-size.js';
import { measureRequests } from './request-metrics.js';

/** What the metrics are read from. */
interface Measured {
  readonly server: FastifyInstance;
  readonly pool: PrimaryPool;
  readonly dearReadPool: PrimaryPool;
  readonly dearReads: DearReads;
  readonly positioned: PositionedReads;
  readonly log: EventLog;
  readonly liveFeed: LiveFeed;
  readonly lineFeed: LineFeed;
  readonly readiness: Readiness;
  readonly checkpoints: Checkpoints;
  readonly decisions: BindDecisionMetrics;
  readonly group: WorkerGroup;
}

/** Of the registry, among those of the workers. */
const NAME = 'instance';

const CHECKS: readonly (keyof Failures)[] = ['database', 'migrations', 'queue'];

/**
 * The metrics of this instance, summed over its workers. Labels are routes, statuses and the like, whose number is bounded, and name no account
 * and no key.
 */
export class InstanceMetrics {
  private readonly registry: Registry;
  private readonly group: WorkerGroup;

  constructor(measured: Measured) {
    // Not the default registry of prom-client: it is one for all instances of a process, as tests have them.
    const registry = new Registry();
    measureRequests(measured.server, registry);
    measureAppends(measured.log, registry);
    measurePools(measured, registry);
    measurePositionedReads(measured.positioned, registry);
    measureFollowers(measured, registry);
    measureReadiness(measured.readiness, registry);
    measureCheckpoints(measured.checkpoints, registry);
    measureLogs(new LogSizes(measured.pool), registry);
    collectDefaultMetrics({ register: registry });
    this.registry = Registry.merge([registry, measured.decisions.registry]);
    this.group = measured.group;
    this.group.contribute(NAME, this.registry);
  }

  /** The metrics in the text format of Prometheus. */
  async text(): Promise<string> {
    return (await this.group.sum(NAME, this.registry)).metrics();
  }

  get contentType(): string {
    return this.registry.contentType;
  }
}

function measureFollowers({ liveFeed, lineFeed }: Measured, registry: Registry): void {
  const gauge = (name: string, help: string, read: () => number): void => {
    new Gauge({
      name,
      help,
      registers: [registry],
      collect() {
        this.set(read());
      },
    });
  };
  gauge('tunnel_access_followers', 'Live feeds of the log that are open.', () => liveFeed.openFeeds);
  gauge('tunnel_access_line_readers', 'Answers of /events in lines that are open.', () => lineFeed.openReaders);
}

function measureReadiness(readiness: Readiness, registry: Registry): void {
  new Gauge({
    name: 'tunnel_access_ready',
    help: 'Whether the instance passes this check of /readyz: 1 or 0.',
    labelNames: ['check'],
    aggregator: 'min',
    registers: [registry],
    async collect() {
      const failures: Failures = await readiness.check().catch(() => ({ database: 'the check failed' }));
      for (const check of CHECKS) this.set({ check }, failures[check] === undefined ? 1 : 0);
    },
  });
}

/** Without a key the gauge has no value: 0 would look like logs that are in order. */
function measureCheckpoints(checkpoints: Checkpoints, registry: Registry): void {
  new Gauge({
    name: 'tunnel_access_lost_logs',
    help: 'Logs that have lost events, or checkpoints, which this instance knows to be signed.',
    aggregator: 'max',
    registers: [registry],
    collect() {
      if (checkpoints.key === undefined) this.remove();
      else this.set(checkpoints.lostLogs);
    },
  });
}

/** While the size is unknown the gauges have no value: 0 would look like a log that was lost. */
function measureLogs(sizes: LogSizes, registry: Registry): void {
  const gauge = (name: string, help: string, field: 'events' | 'bytes'): void => {
    new Gauge({
      name,
      help,
      aggregator: 'max',
      registers: [registry],
      async collect() {
        const size = await sizes.current();
        if (size === undefined) this.remove();
        else this.set(size[field]);
      },
    });
  };
  gauge('tunnel_access_log_events', 'Events in the logs of all accounts, at most a minute old.', 'events');
  gauge('tunnel_access_log_bytes', 'Bytes of the table of events with its indexes, at most a minute old.', 'bytes');
}
