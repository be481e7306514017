import type { Socket } from 'node:net';
import type { TunnelChannel } from '../protocol/tunnel-channel.js';

/** Once the tunnel has ended, a peer that takes nothing for this time loses its socket. */
const MAX_UNREAD_MS = 10_000;

/**
 * Carries bytes both ways until both sides have ended. If one side fails or is cut, the other one is reset, so that no
 * program takes a part of the data for all of it. The socket must have `allowHalfOpen`.
 */
export function carry(socket: Socket, tunnel: TunnelChannel): void {
  if (socket.destroyed || tunnel.destroyed) {
    tunnel.cut('the visitor is gone');
    socket.resetAndDestroy();
    return;
  }
  tunnel.peer = socket;
  socket.on('error', () => tunnel.cut('the connection of the visitor failed'));
  // If both sides have ended, the tunnel may still have bytes for its client, so it is not cut.
  socket.once('close', () => {
    if (!socket.readableEnded || !socket.writableFinished) tunnel.cut('the visitor is gone');
  });
  tunnel.once('close', () => (tunnel.wasCut ? reset(socket) : endSoon(socket)));
  socket.once('end', () => tunnel.visitorEnds());
  socket.pipe(tunnel);
  tunnel.pipe(socket, { end: false });
  tunnel.once('end', () => {
    if (!tunnel.isClosedByClient) socket.end();
  });
}

function reset(socket: Socket): void {
  if (!socket.destroyed) socket.resetAndDestroy();
}

/** Closes the socket after the visitor has taken what was received for it. */
function endSoon(socket: Socket): void {
  if (socket.destroyed) return;
  let before = -1;
  const timer = setInterval(() => {
    const taken = socket.bytesWritten - socket.writableLength;
    if (taken === before) socket.resetAndDestroy();
    before = taken;
  }, MAX_UNREAD_MS / 2).unref();
  socket.once('close', () => clearInterval(timer));
  // Without an earlier end, the kernel resets the connection if some bytes of the visitor were never read.
  if (socket.writableEnded) socket.destroySoon();
  else socket.write(Buffer.alloc(0), () => socket.destroy());
}
