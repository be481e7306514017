/**
 * Castore with its adapter for PostgreSQL. Each event is one INSERT in its own transaction. The store cannot be
 * followed.
 */
import { randomUUID } from 'node:crypto';
import { EventStore, EventType } from '@castore/core';
import { PostgresEventStorageAdapter } from '@castore/event-storage-adapter-postgres';
import { EVENT_TYPE, METADATA, newCredential } from './new-event.mjs';

export async function openStore() {
  // The rest of the address is in environment variables.
  const connectionString = `postgres:///${process.env.PGDATABASE}`;
  await PostgresEventStorageAdapter.createEventTable({ connectionString });
  const store = new EventStore({
    eventStoreId: 'CREDENTIALS',
    eventTypes: [new EventType({ type: EVENT_TYPE })],
    reducer: (_aggregate, { aggregateId, version }) => ({ aggregateId, version }),
    eventStorageAdapter: new PostgresEventStorageAdapter({ connectionString }),
  });
  const push = (aggregateId) =>
    store.pushEvent({ aggregateId, version: 1, type: EVENT_TYPE, payload: newCredential(), metadata: METADATA });
  return { append: () => push(randomUUID()), race: push };
}
