import type { Pool } from 'pg';
import { type EventLog, LogPositions, LogReader } from '../../event-log/index.js';
import type { IdSource } from '../../kernel/ids.js';
import { Changes } from './changes.js';
import { EntityQueries } from './entity-queries.js';
import { Idempotency } from './idempotency.js';

/** Makes the runner of changes where there is no Nest: in an operator's command and in a benchmark. */
export function makeChanges(pool: Pool, log: EventLog, ids: IdSource): Changes {
  const reader = new LogReader(pool);
  return new Changes(log, new EntityQueries(pool), new LogPositions(pool), new Idempotency(reader), ids, reader);
}
