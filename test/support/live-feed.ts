import { CloudEvents } from '../../src/api/audit/cloud-events.js';
import { EventFeed } from '../../src/api/audit/event-feed.js';
import { LiveFeed } from '../../src/api/audit/live-feed.js';
import { READ_MODELS } from '../../src/api/read-models.js';
import { AuditReads } from '../../src/database/audit-reads.js';
import { LogPositions } from '../../src/event-log/read/log-positions.js';
import { LogTail } from '../../src/event-log/read/log-tail.js';
import type { TestPrincipal } from './principals.js';
import type { Service } from './service.js';

export const upTo = (last: number): number[] => Array.from({ length: last }, (_, n) => n + 1);
export const tokenOf = ({ client }: TestPrincipal): string => client.token ?? '';

/** A live feed with a fast heartbeat. */
export const liveFeed = (service: Service): LiveFeed => {
  const positions = new LogPositions(service.pool);
  const feed = new EventFeed(
    positions,
    new AuditReads(service.app.database.auditReadPool, 10_000),
    new CloudEvents(READ_MODELS),
  );
  const timings = { heartbeatMs: 60, authorizationCheckMs: 20 };
  return new LiveFeed(feed, new LogTail(service.pool), positions, timings);
};

/** Appends `count` events of 200 KB each. Returns the position of the last one. */
export async function appendLarge(by: TestPrincipal, count: number): Promise<number> {
  const value = 'x'.repeat(200_000);
  let last = 0;
  for (let n = 0; n < count; n += 1) {
    const { headers } = await by.client.post('/edges/tcp', { traffic_policy: { value } });
    last = Number(headers.get('log-position'));
  }
  return last;
}
