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
  const probes = DATABASES.map((name) => commitsAt(cluster.superuserOf(name), committed.signal));
  return Promise.race(probes).finally(() => committed.abort());
}

/** One attempt after the other, so that those that wait for a standby do not use up the connections. */
async function commitsAt(config: pg.ClientConfig, ended: AbortSignal): Promise<number> {
  while (!ended.aborted) {
    if (await commits(config, ended)) return performance.now();
    await sleep(BETWEEN_PROBES_MS);
  }
  return Number.POSITIVE_INFINITY;
}

/** At the end it closes its connection: a cancelled wait for a standby would look like a commit. */
async function commits(config: pg.ClientConfig, ended: AbortSignal): Promise<boolean> {
  const client = new pg.Client({ ...config, connectionTimeoutMillis: CONNECT_PATIENCE_MS });
  client.on('error', () => undefined);
  const close = (): void => void client.end().catch(() => undefined);
  ended.addEventListener('abort', close);
  try {
    await client.connect();
    await client.query(COMMIT);
    return true;
  } catch {
    return false;
  } finally {
    ended.removeEventListener('abort', close);
    close();
  }
}
