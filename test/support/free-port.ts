import { randomInt } from 'node:crypto';
import { once } from 'node:events';
import { createServer } from 'node:net';

/**
 * Above the ports in the documents, and below the ports that kernels give to outgoing connections. Such a connection
 * could take a port before its server listens, or while the server restarts.
 */
const [MIN_PORT, MAX_PORT] = [21_000, 29_999];
/** Each test worker tries only the ports with its own remainder, so that no two workers try the same port. */
const MAX_WORKERS = 16;
const WORKER = Number(process.env.JEST_WORKER_ID ?? 0) % MAX_WORKERS;

/** The next port to try, from a random start: so several runs on a machine rarely try the same port. */
let next = randomInt(MIN_PORT, MAX_PORT);

function nextPort(): number {
  next = next + MAX_WORKERS > MAX_PORT ? MIN_PORT : next + MAX_WORKERS;
  return next - (next % MAX_WORKERS) + WORKER;
}

async function isFree(port: number, address: string): Promise<boolean> {
  const server = createServer();
  try {
    await once(server.listen(port, address), 'listening');
    return true;
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === 'EADDRINUSE') return false;
    throw error;
  } finally {
    if (server.listening) await once(server.close(), 'close');
  }
}

/** A free port at this address, for a program that needs the number in advance. */
export async function freePort(address: string): Promise<number> {
  for (;;) {
    const port = nextPort();
    if (await isFree(port, address)) return port;
  }
}
