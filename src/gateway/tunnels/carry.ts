import type { Socket } from 'node:net';
import type { Duplex } from 'node:stream';

/** Carries bytes both ways until both sides have ended, or one fails. The socket must allow to be half open. */
export function carry(socket: Socket, tunnel: Duplex): void {
  if (socket.destroyed) return void tunnel.destroy();
  socket.on('error', () => tunnel.destroy());
  tunnel.on('error', () => socket.destroy());
  socket.once('close', () => tunnel.destroy());
  tunnel.once('close', () => socket.destroySoon());
  socket.pipe(tunnel);
  tunnel.pipe(socket);
}
