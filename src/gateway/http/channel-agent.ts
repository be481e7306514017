import { Agent } from 'node:http';
import type { Socket } from 'node:net';
import type { TunnelChannel } from '../protocol/tunnel-channel.js';
import type { OpenTunnel } from '../tunnels/open-tunnel.js';

/**
 * One channel of one visitor connection, as Node's client uses it: request after request. A byte that comes without a
 * request closes it, since it would stand in the answer to the next request.
 */
export class ChannelAgent extends Agent {
  /** Set if an answer may be followed by bytes that belong to no answer. */
  isSpent = false;
  private free: () => void = () => undefined;
  private isFree: Promise<void> = Promise.resolve();

  constructor(
    readonly channel: TunnelChannel,
    readonly tunnel: OpenTunnel,
    /** Its address, which a proxy in front can name. */
    readonly visitor: string,
  ) {
    super({ keepAlive: true, maxSockets: 1 });
    channel.once('close', () => this.free());
    channel.once('end', () => setImmediate(() => channel.destroy()));
  }

  /** Resolves when the exchange before is over. False if the channel takes no further request. */
  async isUsable(): Promise<boolean> {
    await this.isFree;
    return !this.channel.destroyed && !this.channel.readableEnded && !this.channel.isClosedByClient;
  }

  /** Called before each request. */
  begin(): void {
    this.isFree = new Promise((resolve) => {
      this.free = resolve;
    });
  }

  close(): void {
    this.channel.destroy();
  }

  // Node calls the three methods below with sockets, and needs no more of them than a stream.
  override createConnection(): Socket {
    return this.channel as unknown as Socket;
  }

  override keepSocketAlive(): boolean {
    if (this.isSpent || this.channel.readableLength > 0) return false;
    this.channel.on('data', this.unasked);
    this.free();
    return true;
  }

  override reuseSocket(): void {
    this.channel.off('data', this.unasked);
  }

  private readonly unasked = (): void => this.close();
}
