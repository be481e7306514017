import { setTimeout as sleep } from 'node:timers/promises';
import pg from 'pg';
import type { Cluster } from './cluster.js';
import { DATABASES } from './leaders.js';

/** A transaction with nothing but a message in the write-ahead log: its commit waits for a standby like any other. */
const COMMIT = `select pg_logical_emit_message(true, 'probe', '')`;
const CONNECT_PATIENCE_MS = 1_000;
const BETWEEN_PROBES_MS = 250;

export interface WatchedCommits {
  /** Resolves at the first commit. */
  readonly first: Promise<unknown>;
  /** The longest time without a commit, from the begin of the watch to now. */
  stop(): number;
}

/** Commits on each database that can, without the service, one after the other. */
export function watchCommits(cluster: Cluster): WatchedCommits {
  const ended = new AbortController();
  let [last, longestMs] = [performance.now(), 0];
  const note = (): void => {
    const now = performance.now();
    longestMs = Math.max(longestMs, now - last);
    last = now;
  };
  const first = Promise.race(DATABASES.map((name) => commitOn(cluster.superuserOf(name), ended.signal, note)));
  return {
    first,
    stop: () => {
      ended.abort();
      note();
      return longestMs;
    },
  };
}

/**
 * Resolves at its first commit, and goes on. One attempt comes after the other, so that those that wait for a standby do not
 * use up the connections.
 */
function commitOn(config: pg.ClientConfig, ended: AbortSignal, note: () => void): Promise<void> {
  return new Promise((resolve) => {
    const goOn = async (): Promise<void> => {
      while (!ended.aborted) {
        if (await commits(config, ended)) {
          note();
          resolve();
        }
        await sleep(BETWEEN_PROBES_MS);
      }
    };
    void goOn();
  });
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
