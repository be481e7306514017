import { Histogram, type Registry } from 'prom-client';
import type { EventLog } from '../../event-log/index.js';
import { readGauges } from '../instance/read-gauges.js';

/** A batch has at most 256 changes. */
const SIZE_BUCKETS = [1, 2, 4, 8, 16, 32, 64, 128, 256];
/** In seconds: from a local disk to the deadline of a change. */
const BUCKETS_SECONDS = [0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10, 20];

/** The queue of changes, and the batches that write them. */
export function measureAppends(log: EventLog, registry: Registry): void {
  const registers = [registry];
  const gauge = readGauges(registry);
  gauge(
    'tunnel_access_append_queue',
    'Changes that wait to be written; those under way do not count.',
    () => log.queue.waiting,
  );
  gauge(
    'tunnel_access_append_queue_limit',
    'Changes that may wait; further ones are answered 503.',
    () => log.queue.limit,
  );
  const size = new Histogram({
    name: 'tunnel_access_append_batch_size',
    help: 'Changes in a batch.',
    buckets: SIZE_BUCKETS,
    registers,
  });
  const seconds = new Histogram({
    name: 'tunnel_access_append_batch_seconds',
    help: 'Seconds until every change of a batch has its answer, with all repetitions.',
    buckets: BUCKETS_SECONDS,
    registers,
  });
  log.onBatch((items, durationMs) => {
    size.observe(items);
    seconds.observe(durationMs / 1000);
  });
}
