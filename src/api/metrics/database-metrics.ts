import { Gauge, Histogram, type Registry } from 'prom-client';
import type { AuditReads, PrimaryPool } from '../../database/index.js';

/** In seconds: up to the deadline of an audit read. */
const WAIT_BUCKETS_SECONDS = [0.001, 0.005, 0.025, 0.1, 0.25, 0.5, 1, 2.5, 5, 10];

interface WatchedPool {
  readonly connections: PrimaryPool;
  readonly waiting: () => number;
  /** Set to be told of each wait. */
  readonly source: { onWaited: ((waitMs: number) => void) | undefined };
}

type WatchedPools = Readonly<Record<string, WatchedPool>>;

const watched = (pool: PrimaryPool): WatchedPool => ({
  connections: pool,
  waiting: () => pool.waitingCount,
  source: pool,
});

/** The connections of all pools, and the waits for them. An audit read waits in AuditReads, not in its pool. */
export function measurePools(
  { pool, auditReadPool, auditReads }: { pool: PrimaryPool; auditReadPool: PrimaryPool; auditReads: AuditReads },
  registry: Registry,
): void {
  const pools: WatchedPools = {
    shared: watched(pool),
    audit_reads: { connections: auditReadPool, waiting: () => auditReads.waiting, source: auditReads },
  };
  measureConnections(pools, registry);
  measureWaits(pools, registry);
}

function measureConnections(pools: WatchedPools, registry: Registry): void {
  const registers = [registry];
  new Gauge({
    name: 'tunnel_access_pool_connections',
    help: 'Open connections to the database, by pool and state.',
    labelNames: ['pool', 'state'],
    registers,
    collect() {
      for (const [pool, { connections }] of Object.entries(pools)) {
        const { totalCount, idleCount } = connections;
        this.set({ pool, state: 'idle' }, idleCount);
        this.set({ pool, state: 'busy' }, totalCount - idleCount);
      }
    },
  });
  new Gauge({
    name: 'tunnel_access_pool_connections_max',
    help: 'Connections that the pool may open.',
    labelNames: ['pool'],
    registers,
    collect() {
      for (const [pool, { connections }] of Object.entries(pools)) this.set({ pool }, connections.options.max);
    },
  });
}

function measureWaits(pools: WatchedPools, registry: Registry): void {
  const registers = [registry];
  new Gauge({
    name: 'tunnel_access_pool_waiting',
    help: 'Requests that wait for a connection of the pool.',
    labelNames: ['pool'],
    registers,
    collect() {
      for (const [pool, { waiting }] of Object.entries(pools)) this.set({ pool }, waiting());
    },
  });
  const waits = new Histogram({
    name: 'tunnel_access_pool_wait_seconds',
    help: 'Seconds that requests waited for a connection of the pool.',
    labelNames: ['pool'],
    buckets: WAIT_BUCKETS_SECONDS,
    registers,
  });
  for (const [pool, { source }] of Object.entries(pools)) {
    waits.zero({ pool });
    source.onWaited = (waitMs) => waits.observe({ pool }, waitMs / 1000);
  }
}
