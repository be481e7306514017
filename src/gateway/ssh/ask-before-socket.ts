import type { Server, Socket } from 'node:net';

/** The client of a connection that may have no socket yet. */
export type Peer = Pick<Socket, 'remoteAddress' | 'remotePort' | 'bytesRead' | 'bytesWritten'>;

interface ConnectionHandle {
  getpeername(into: { address?: string; port?: number }): number;
  close(): void;
}

/** What Node itself calls for each connection, with `this`. It is not public, so it may be missing. */
interface ListeningHandle {
  onconnection?: (error: number, connection?: ConnectionHandle) => void;
}

/**
 * Asks about each connection of a listening server before Node makes a socket of it. A socket takes half of the CPU time of
 * a refused connection, and a stranger can send thousands a second. False if this Node permits no such question.
 */
export function askBeforeSocket(server: Server, isAdmitted: (peer: Peer) => boolean): boolean {
  const { _handle: handle } = server as { readonly _handle?: ListeningHandle };
  const accept = handle?.onconnection;
  if (handle === undefined || accept === undefined) return false;
  handle.onconnection = (error, connection) => {
    if (connection === undefined || isAdmitted(peerOf(connection))) accept.call(handle, error, connection);
    else connection.close();
  };
  return true;
}

function peerOf(connection: ConnectionHandle): Peer {
  const found: { address?: string; port?: number } = {};
  connection.getpeername(found);
  return { remoteAddress: found.address, remotePort: found.port, bytesRead: 0, bytesWritten: 0 };
}
