/** evtstore with its provider for node-postgres: BEGIN, INSERT, COMMIT. Its handler follows by a serial number. */
import { randomUUID } from 'node:crypto';
import { createHandler } from 'evtstore';
import { createProvider, migrate } from 'evtstore/provider/pg.js';
import pg from 'pg';
import { EVENT_TYPE, METADATA, newCredential } from './new-event.mjs';

const STREAM = 'credentials';

export async function openStore() {
  const client = new pg.Pool();
  const tables = { client, events: 'events', bookmarks: 'bookmarks' };
  await migrate(tables);
  const provider = createProvider({ ...tables, limit: 1000 });
  const append = (id) => {
    const event = { type: EVENT_TYPE, ...newCredential(), meta: METADATA };
    return provider.append(STREAM, id, 1, provider.createEvents(STREAM, id, 1, [event]));
  };
  return {
    async append() {
      const id = randomUUID();
      await append(id);
      return id;
    },
    race: append,
    async follow(seen, signal) {
      const bookmark = { name: 'bench', getPosition: async () => 0, setPosition: async () => undefined };
      const handler = createHandler({ bookmark, streams: [STREAM], provider, alwaysTailStream: true });
      handler.handle(STREAM, EVENT_TYPE, async (id) => seen(id));
      handler.start();
      signal.addEventListener('abort', handler.stop);
    },
  };
}
