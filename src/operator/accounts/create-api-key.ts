import type { Pool } from 'pg';
import { createOperatorKey } from '../../api/access/api-keys/operator-key.js';
import { makeChanges } from '../../api/resources/make-changes.js';
import { EventLog } from '../../event-log/index.js';
import { IdSource } from '../../kernel/ids.js';

export const createApiKey = (pool: Pool, options: { owner?: string; description: string }) =>
  createOperatorKey(pool, makeChanges(pool, new EventLog(pool, console.error), new IdSource()), options);
