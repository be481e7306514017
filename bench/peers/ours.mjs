/**
 * The service's own path from a decision to the log, without HTTP: id, decision, state, leaf hash, event, head of the
 * log, and row of the read model. All appends go to the log of one account, which is the slowest case.
 */
import { randomUUID } from 'node:crypto';
import { makeChanges } from '../../dist/src/api/resources/make-changes.js';
import { create } from '../../dist/src/api/ssh-credentials/ssh-credential.js';
import { SSH_CREDENTIALS } from '../../dist/src/api/ssh-credentials/ssh-credentials.resource.js';
import { openDatabase } from '../../dist/src/database/database.js';
import { migrate } from '../../dist/src/database/migrate.js';
import { EventLog } from '../../dist/src/event-log/append/event-log.js';
import { LogHeads } from '../../dist/src/event-log/read/log-heads.js';
import { LogPages } from '../../dist/src/event-log/read/log-pages.js';
import { LogPositions } from '../../dist/src/event-log/read/log-positions.js';
import { IdSource } from '../../dist/src/kernel/ids.js';
import { EVENT_TYPE, METADATA, newCredential } from './new-event.mjs';

const ACCOUNT = 'ac_000000000000000000000Peers1';
const MAX_WAIT_MS = 1000;

export async function openStore() {
  const options = { databaseUrl: process.env.DATABASE_URL, databasePoolSize: 10, auditReadConnections: 2 };
  const database = await openDatabase(options, () => undefined);
  await migrate(database, async () => undefined);
  const { pool } = database;
  const openLog = () => new EventLog(pool, (message) => console.error(message));
  const changes = makeChanges(pool, openLog(), new IdSource());
  const positions = new LogPositions(pool);
  const context = { accountId: ACCOUNT, metadata: METADATA };
  // With one log, races would be decided in its memory. With several they are decided in the database.
  const rivals = Array.from({ length: 32 }, openLog);
  return {
    async append() {
      const { entity } = await changes.create(SSH_CREDENTIALS, context, () => create(newCredential()));
      return entity.id;
    },
    race(stream, rival) {
      const [data, { model }, at] = [newCredential(), SSH_CREDENTIALS, new Date()];
      const after = { account_id: ACCOUNT, id: stream, version: 1, created_at: at, ...data };
      const own = { model, id: stream, before: undefined, events: [{ type: EVENT_TYPE, data }], after };
      const streams = [{ ...own, eventId: randomUUID() }];
      return rivals[rival].append({ ...context, occurredAt: at, streams });
    },
    /** Reads like a live feed of the service: the head, and then the log up to it. */
    async follow(seen, signal) {
      const heads = new LogHeads(positions, (message) => console.error(message));
      const pages = new LogPages(pool);
      let position = await positions.head(ACCOUNT);
      while (!signal.aborted) {
        const upTo = await heads.beyond(ACCOUNT, position, MAX_WAIT_MS, signal);
        if (upTo === position) continue;
        const { events, scannedTo } = await pages.page(ACCOUNT, { after: position, upTo });
        for (const event of events) seen(event.streamId);
        position = scannedTo;
      }
    },
  };
}
