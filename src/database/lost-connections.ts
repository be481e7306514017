import type { Pool, PoolClient } from 'pg';

/**
 * Keeps a lost connection from ending the process: besides rejecting the query, pg emits `error` on the client, or on
 * the pool if the client was idle. The listeners can ignore it, since the rejected query reports the failure.
 */
export function surviveLostConnections(pool: Pool): Pool {
  const ignore = (): void => undefined;
  const known = new WeakSet<PoolClient>();
  return pool.on('error', ignore).on('acquire', (client) => {
    if (known.has(client)) return;
    known.add(client);
    client.on('error', ignore);
  });
}
