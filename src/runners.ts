import type { Pool } from 'pg';
import type { IdSource } from './ids.js';
import type { EventLog } from './log/append/event-log.js';
import { AsOfQueries } from './log/read/as-of-queries.js';
import { LogPositions } from './log/read/log-positions.js';
import { LogReader } from './log/read/log-reader.js';
import { Changes } from './resources/changes.js';
import { EntityQueries } from './resources/entity-queries.js';
import { Idempotency } from './resources/idempotency.js';
import { Reads } from './resources/reads.js';

/** Makes the runner of changes, the GETs and their parts, for the service and for the operator's commands. */
export function makeRunners(pool: Pool, eventLog: EventLog, ids: IdSource) {
  const entities = new EntityQueries(pool);
  const reader = new LogReader(pool);
  const positions = new LogPositions(pool);
  const changes = new Changes(eventLog, entities, positions, new Idempotency(reader), ids);
  const reads = new Reads(entities, positions, reader, new AsOfQueries(pool, reader));
  return { entities, reader, positions, changes, reads };
}
