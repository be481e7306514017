import type { Socket } from 'node:net';

const MAX_UNSENT_BYTES = 1024 * 1024;

/** The connection under the channels of a client. The SSH library writes to it without regard to what is unsent. */
export class Carrier {
  private waiting: (() => void)[] = [];

  constructor(private readonly socket: Socket) {
    socket.on('drain', () => this.wake());
    socket.once('close', () => this.wake());
  }

  /** Calls back once the connection can take more. */
  whenWritable(callback: () => void): void {
    if (this.socket.destroyed || this.socket.writableLength < MAX_UNSENT_BYTES) callback();
    else this.waiting.push(callback);
  }

  private wake(): void {
    const callbacks = this.waiting;
    this.waiting = [];
    for (const callback of callbacks) callback();
  }
}
