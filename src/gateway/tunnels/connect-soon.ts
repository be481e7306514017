import { setTimeout as sleep } from 'node:timers/promises';
import type { Endpoint } from '../endpoint.js';
import { NotCarried } from '../protocol/not-carried.js';
import type { TunnelChannel } from '../protocol/tunnel-channel.js';
import type { OpenTunnel } from './open-tunnel.js';

/** If an SSH client opens no channel within this time, it is asked for a sign of life. */
const PATIENCE_MS = 1_000;
/** After this time the next tunnel is tried, or at once if the client gives no sign of life. */
const MAX_CONNECT_MS = 5_000;

/** Opens a channel for a visitor. Undefined if the client of the tunnel refuses, or does not answer in time. */
export async function connectSoon(tunnel: OpenTunnel, source: Endpoint): Promise<TunnelChannel | undefined> {
  let [isAnswered, isLate] = [false, false];
  const opened = tunnel.connect(source).finally(() => {
    isAnswered = true;
  });
  const late = endOfPatience(tunnel, () => isAnswered).then(() => {
    isLate = true;
    return undefined;
  });
  opened.then((stream) => isLate && stream.cut('another tunnel was faster')).catch(() => undefined);
  return Promise.race([opened, late]).catch((error) => {
    if (error instanceof NotCarried) return undefined;
    throw error;
  });
}

/** Calls `act` if the client gives no sign of life after a second. Returns what ends the wait. */
export function ifSilent({ signs }: OpenTunnel, act: () => void): () => void {
  const timer = setTimeout(() => void signs.isAlive().then((isAlive) => isAlive || act()), PATIENCE_MS).unref();
  return () => clearTimeout(timer);
}

/** Resolves when the client has had its time to open a channel, or gives no sign of life. */
async function endOfPatience({ signs }: OpenTunnel, isAnswered: () => boolean): Promise<void> {
  const end = sleep(MAX_CONNECT_MS, undefined, { ref: false });
  await sleep(PATIENCE_MS, undefined, { ref: false });
  if (isAnswered() || (await signs.isAlive())) await end;
}
