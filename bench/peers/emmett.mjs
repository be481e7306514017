/**
 * Emmett with its event store for PostgreSQL. A function of the database appends to a stream. Emmett can write
 * projections in the same transaction, but none is registered here. Its consumer follows by transaction ids.
 */
import { randomUUID } from 'node:crypto';
import { getPostgreSQLEventStore, postgreSQLEventStoreConsumer } from '@event-driven-io/emmett-postgresql';
import { EVENT_TYPE, METADATA, newCredential } from './new-event.mjs';

export async function openStore() {
  const { PGHOST, PGUSER, PGDATABASE } = process.env;
  const connectionString = `postgresql://${PGUSER}@localhost/${PGDATABASE}?host=${encodeURIComponent(PGHOST)}`;
  const store = getPostgreSQLEventStore(connectionString);
  await store.schema.migrate();
  const append = (stream) =>
    store.appendToStream(stream, [{ type: EVENT_TYPE, data: newCredential(), metadata: METADATA }], {
      expectedStreamVersion: 0n,
    });
  return {
    async append() {
      const stream = `credential-${randomUUID()}`;
      await append(stream);
      return stream;
    },
    race: append,
    async follow(seen, signal) {
      const consumer = postgreSQLEventStoreConsumer({ connectionString });
      const eachMessage = ({ metadata }) => seen(metadata.streamName);
      consumer.reactor({ processorId: 'bench', startFrom: 'END', eachMessage });
      signal.addEventListener('abort', () => void consumer.stop());
      consumer.start().catch((error) => console.error(error));
    },
  };
}
