import cluster from 'node:cluster';
import { lookup } from 'node:dns/promises';
import { once } from 'node:events';
import { connect } from 'node:net';

/**
 * Throws the system's error if no server could listen there. It binds the address and does not listen: a client that waits
 * for the service would get a connection that nobody answers.
 */
export async function requireFreeAddress(host: string, port: number): Promise<void> {
  // In a worker of a process manager, the primary process shares the port.
  if (cluster.isWorker) return;
  const { address, family } = await lookup(host);
  // Node binds an address only to listen or to connect. Nobody listens on port 0, so the connection itself always fails.
  const nowhere = { host: family === 6 ? '::1' : '127.0.0.1', port: 0 };
  const socket = connect({ ...nowhere, localAddress: address, localPort: port });
  const error = await once(socket, 'close').catch((reason: NodeJS.ErrnoException) => reason);
  if ('syscall' in error && error.syscall === 'bind') throw error;
}
