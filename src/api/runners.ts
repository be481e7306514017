import { Logger } from '@nestjs/common';
import type { Pool } from 'pg';
import { DEFAULT_BATCHER_LIMITS, EventLog, LogPositions, LogReader } from '../event-log/index.js';
import type { IdSource } from '../kernel/ids.js';
import type { Config } from './config/config.js';
import { Changes } from './resources/changes.js';
import { EntityQueries } from './resources/entity-queries.js';
import { Idempotency } from './resources/idempotency.js';

export const makeEventLog = (
  { appendQueueLimit, writeDeadlineMs }: Pick<Config, 'appendQueueLimit' | 'writeDeadlineMs'>,
  pool: Pool,
): EventLog => {
  const logger = new Logger('EventLog');
  const limits = { ...DEFAULT_BATCHER_LIMITS, queuedItems: appendQueueLimit };
  return new EventLog(pool, (message) => logger.fatal(message), limits, writeDeadlineMs);
};

/** Makes the runner of changes and its parts, for the service and for the operator's commands. */
export function makeRunners(pool: Pool, eventLog: EventLog, ids: IdSource) {
  const entities = new EntityQueries(pool);
  const positions = new LogPositions(pool);
  const changes = new Changes(eventLog, entities, positions, new Idempotency(new LogReader(pool)), ids);
  return { entities, positions, changes };
}
