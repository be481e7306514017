import { randomUUID } from 'node:crypto';
import { parseDatabaseUrl } from '../../src/database/database-url.js';
import { PrimaryPool } from '../../src/database/primary-pool.js';
import type { Append, Appended, StreamAppend } from '../../src/event-log/append/append.js';
import { DEFAULT_BATCHER_LIMITS } from '../../src/event-log/append/batcher.js';
import { EventLog } from '../../src/event-log/append/event-log.js';
import type { DomainEvent, EventMetadata } from '../../src/event-log/event.js';
import type { EntityRow, Row, Table } from '../../src/event-log/read-model.js';

/** Longer than a client of the service waits, since a busy machine may be slow with hundreds of appends. */
const DEADLINE_MS = 50_000;

/** A log with its own connections, like that of another instance of the service. */
export function openLog(
  databaseUrl: string,
  connections = 4,
): { log: EventLog; alarms: string[]; close: () => Promise<void> } {
  const pool = new PrimaryPool({
    server: parseDatabaseUrl(databaseUrl),
    max: connections,
    connectionTimeoutMillis: 10_000,
  });
  const alarms: string[] = [];
  const log = new EventLog(pool, (message) => alarms.push(message), DEFAULT_BATCHER_LIMITS, DEADLINE_MS);
  return { log, alarms, close: () => pool.end() };
}

interface NewEvent {
  readonly eventId: string;
  readonly streamId: string;
  readonly streamVersion: number;
  readonly event: DomainEvent;
  readonly metadata: EventMetadata;
  readonly occurredAt: Date;
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

export const appendOf = (accountId: string, first: NewEvent, ...others: NewEvent[]): Append => ({
  accountId,
  metadata: first.metadata,
  occurredAt: first.occurredAt,
  streams: [first, ...others].map((event) => streamOf(event)),
});

/** An append of one event that turns the rows `old` of the table api_keys into the rows `current`. */
export const apiKeyAppend = (
  accountId: string,
  event: NewEvent,
  old: readonly Row[],
  current: readonly Row[],
): Append => ({
  ...appendOf(accountId, event),
  streams: [streamOf(event, [API_KEYS], old, current)],
});

interface Rows extends EntityRow {
  readonly rows: readonly Row[];
}

const streamOf = (
  { streamId: id, streamVersion, event, eventId }: NewEvent,
  tables: readonly Table<Rows>[] = [],
  old: readonly Row[] = [],
  current: readonly Row[] = [],
): StreamAppend => {
  const entity = (version: number, rows: readonly Row[]): Rows => ({
    account_id: '',
    id,
    version,
    created_at: new Date(0),
    rows,
  });
  const before = streamVersion === 1 ? undefined : entity(streamVersion - 1, old);
  const after = entity(streamVersion, current);
  return { model: { tables, events: {} }, id, before, events: [event], after, eventId };
};

/** A read model row with a value that only one row may hold, and with a description that only one account may have. */
const API_KEYS: Table<Rows> = {
  name: 'api_keys',
  columns: ['account_id', 'id', 'version', 'created_at', 'owner_id', 'description', 'metadata', 'token_hash'],
  primaryKey: ['account_id', 'id'],
  rowsOf: ({ rows }) => rows,
  exclusiveValuesOf: (row) => [`token:${row.token_hash}`],
  claimed: { kind: 'key', column: 'description' },
};

export const apiKeyRow = (accountId: string, id: string, tokenHash: string, description = accountId): Row => ({
  account_id: accountId,
  id,
  version: 1,
  created_at: new Date().toISOString(),
  owner_id: 'usr_1',
  description,
  metadata: '',
  token_hash: tokenHash,
});

/** Waits for all promises. Returns 'ok' or the name of the error for each. */
export async function outcomesOf(appends: readonly Promise<Appended>[]): Promise<string[]> {
  const settled = await Promise.allSettled(appends);
  return settled.map((s) => (s.status === 'fulfilled' ? 'ok' : s.reason.name));
}

export const count = (values: readonly string[], wanted: string): number => values.filter((v) => v === wanted).length;
