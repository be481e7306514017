import type { Socket } from 'node:net';

/** Tunnels wait from 1 MiB on, so that only hundreds of busy ones reach this mark. */
const MAX_UNSENT_BYTES = 4 * 1024 * 1024;

/** Reads from a client only while that one reads too: the SSH library answers without regard to what is unsent. */
export class Intake {
  private isStopped = false;

  constructor(readonly socket: Socket) {
    socket.on('data', () => {
      if (socket.writableLength > MAX_UNSENT_BYTES) socket.pause();
    });
    socket.on('drain', () => {
      if (!this.isStopped) socket.resume();
    });
  }

  /** Reads no further. */
  stop(): void {
    this.isStopped = true;
    this.socket.pause();
  }
}
