import { Server, Socket } from 'node:net';

/** What a server shall see of a connection. */
export type Ends = Partial<Pick<Socket, 'remoteAddress' | 'remotePort' | 'localAddress' | 'localPort'>>;

const claims = new Map<string, Ends>();
let claimed = 0;

/**
 * Lets the servers of this process see other addresses and ports than a connection really has: most addresses of the
 * world are none of this machine. Returns the loopback address from which to connect.
 */
export function claimEnds(ends: Ends): string {
  if (claims.size === 0) Server.prototype.emit = emitClaimed;
  claimed += 1;
  const loopback = `127.44.${claimed >> 8}.${claimed & 255}`;
  claims.set(loopback, ends);
  return loopback;
}

const { emit } = Server.prototype;

function emitClaimed(this: Server, name: string | symbol, ...values: unknown[]): boolean {
  const [socket] = values;
  const ends = socket instanceof Socket && claims.get(socket.remoteAddress ?? '');
  if (name === 'connection' && ends) {
    for (const [end, value] of Object.entries(ends)) Object.defineProperty(socket, end, { value });
  }
  return Reflect.apply(emit, this, [name, ...values]);
}
