import type { Socket } from 'node:net';
import type { TunnelChannel } from '../protocol/tunnel-channel.js';

/** A peer that takes nothing for so long keeps its socket no longer, once its tunnel has ended. */
const MAX_UNREAD_MS = 10_000;

/**
 * Carries bytes both ways until both sides have ended. If one of them fails or is cut, the other one is reset: a program
 * must not take a part for the whole. The socket must allow to be half open.
 */
export function carry(socket: Socket, tunnel: TunnelChannel): void {
  if (socket.destroyed || tunnel.destroyed) {
    tunnel.cut('the visitor is gone');
    socket.resetAndDestroy();
    return;
  }
  tunnel.peer = socket;
  socket.on('error', () => tunnel.cut('the connection of the visitor failed'));
  // After an end of both sides the tunnel may still have bytes for its client.
  socket.once('close', () => {
    if (!socket.readableEnded || !socket.writableFinished) tunnel.cut('the visitor is gone');
  });
  tunnel.once('close', () => (tunnel.wasCut ? reset(socket) : endSoon(socket)));
  socket.pipe(tunnel);
  tunnel.pipe(socket, { end: false });
  tunnel.once('end', () => {
    if (!tunnel.isClosedByClient) socket.end();
  });
}

function reset(socket: Socket): void {
  if (!socket.destroyed) socket.resetAndDestroy();
}

/** The visitor still gets what was received for it. */
function endSoon(socket: Socket): void {
  if (socket.destroyed) return;
  let before = -1;
  const timer = setInterval(() => {
    const taken = socket.bytesWritten - socket.writableLength;
    if (taken === before) socket.resetAndDestroy();
    before = taken;
  }, MAX_UNREAD_MS / 2).unref();
  socket.once('close', () => clearInterval(timer));
  // Without an end before: the kernel resets the visitor then if the client has not taken all that it sent.
  if (socket.writableEnded) socket.destroySoon();
  else socket.write(Buffer.alloc(0), () => socket.destroy());
}
