import { randomUUID } from 'node:crypto';
import pg from 'pg';
import { surviveLostConnections } from '../../src/database/query.js';
import { type Append, type Appended, EventLog } from '../../src/log/append/event-log.js';
import { type TableChange, tableChange } from '../../src/log/append/table-change.js';
import type { NewEvent } from '../../src/log/event.js';
import type { Row, Table } from '../../src/log/read-model.js';

/** A log on connections of its own, as another copy of the service would have. */
export function openLog(
  databaseUrl: string,
  connections = 4,
): { log: EventLog; alarms: string[]; close: () => Promise<void> } {
  const pool = surviveLostConnections(new pg.Pool({ connectionString: databaseUrl, max: connections }));
  const alarms: string[] = [];
  return { log: new EventLog(pool, (message) => alarms.push(message)), alarms, close: () => pool.end() };
}

export const newEvent = (streamId: string, streamVersion: number, changes: Partial<NewEvent> = {}): NewEvent => ({
  eventId: randomUUID(),
  streamId,
  streamVersion,
  event: { type: 'tested.v1', data: { text: `${streamId} ünïcode\n${streamVersion}` } },
  metadata: { actor: 'system' },
  occurredAt: new Date(),
  ...changes,
});

export const appendOf = (accountId: string, ...events: NewEvent[]): Append => ({ accountId, events, changes: [] });

/** A read model row with a value that only one row may hold. */
export const apiKeys: Table<never> = {
  name: 'api_keys',
  columns: ['account_id', 'id', 'version', 'created_at', 'owner_id', 'description', 'metadata', 'token_hash'],
  primaryKey: ['account_id', 'id'],
  rowsOf: () => [],
  exclusiveValuesOf: (row) => [`token:${row.token_hash}`],
};

export const apiKeyRow = (accountId: string, id: string, tokenHash: string): Row => ({
  account_id: accountId,
  id,
  version: 1,
  created_at: new Date().toISOString(),
  owner_id: 'usr_1',
  description: '',
  metadata: '',
  token_hash: tokenHash,
});

/** Settles all and says how each ended: 'ok', or the name of the error. */
export async function outcomesOf(appends: readonly Promise<Appended>[]): Promise<string[]> {
  const settled = await Promise.allSettled(appends);
  return settled.map((s) => (s.status === 'fulfilled' ? 'ok' : s.reason.name));
}

export const count = (values: readonly string[], wanted: string): number => values.filter((v) => v === wanted).length;

/** What turns these rows of the table into those. */
export const apiKeyChange = (old: readonly Row[], current: readonly Row[]): TableChange =>
  tableChange(apiKeys, old, current);
