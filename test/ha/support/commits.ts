import { setTimeout as sleep } from 'node:timers/promises';
import pg from 'pg';
import type { Cluster } from './cluster.js';
import { DATABASES } from './leaders.js';

/** A transaction with nothing but a message in the write-ahead log: its commit waits for a standby like any other. */
const COMMIT = `select pg_logical_emit_message(true, 'probe', '')`;
const CONNECT_PATIENCE_MS = 1_000;
const BETWEEN_PROBES_MS = 250;

/** Resolves with the time of the first commit on any database that is not cut off, asked without the service. */
export async function firstCommit(cluster: Cluster): Promise<number> {
  const committed = new AbortController();
  for (let at: number | undefined; ; ) {
    for (const database of DATABASES) {
      void commitOn(cluster.superuserOf(database), committed.signal).then(
        () => {
          at ??= performance.now();
        },
        () => undefined,
      );
    }
    await sleep(BETWEEN_PROBES_MS);
    if (at === undefined) continue;
    committed.abort();
    return at;
  }
}

/** A probe that still waits is closed with the signal, since a cancelled wait for a standby would look like a commit. */
async function commitOn(config: pg.ClientConfig, ended: AbortSignal): Promise<void> {
  const client = new pg.Client({ ...config, connectionTimeoutMillis: CONNECT_PATIENCE_MS });
  client.on('error', () => undefined);
  const close = (): void => void client.end().catch(() => undefined);
  ended.addEventListener('abort', close);
  try {
    await client.connect();
    await client.query(COMMIT);
  } finally {
    ended.removeEventListener('abort', close);
    close();
  }
}
