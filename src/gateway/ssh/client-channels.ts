import type { Socket } from 'node:net';
import type { Connection, ServerChannel } from 'ssh2';
import type { GatewayContext } from '../gateway-context.js';
import type { CredentialUsage } from '../limits.js';
import { Carrier } from '../tunnels/carrier.js';
import type { Endpoint } from '../tunnels/open-tunnel.js';
import { takesPackets } from '../tunnels/packets.js';
import { TunnelStream } from '../tunnels/tunnel-stream.js';
import type { Terminal } from './terminal.js';

const MAX_OPENING_MS = 10_000;
/** Refused connections can be many: the terminal is told of one in this time. */
const TELLING_MS = 10_000;

/** The channels that the gateway opens to one client, for connections to its binds. */
export class ClientChannels {
  private readonly carrier: Carrier;
  private toldAt = Number.NEGATIVE_INFINITY;

  constructor(
    private readonly connection: Connection,
    socket: Socket,
    private readonly usage: CredentialUsage,
    private readonly context: Pick<GatewayContext, 'metrics' | 'settings'>,
    private readonly terminal: Terminal,
  ) {
    this.carrier = new Carrier(socket);
  }

  /** `bound` is the bind in the words of the client. `streams` has the stream while it is open. */
  async open(bound: Endpoint, source: Endpoint, streams: Set<TunnelStream>): Promise<TunnelStream> {
    if (!this.usage.take('channels')) throw this.tooMany();
    try {
      const channel = await this.openChannel(bound, source);
      const stream = new TunnelStream(channel, this.carrier, this, this.context.settings.idleMs);
      streams.add(stream);
      stream.once('close', () => {
        streams.delete(stream);
        this.usage.release('channels');
      });
      return stream;
    } catch (error) {
      this.usage.release('channels');
      throw error;
    }
  }

  count(direction: 'in' | 'out', bytes: number): number {
    this.context.metrics.bytes.inc({ direction }, bytes);
    return this.usage.pauseAfter(bytes);
  }

  private tooMany(): Error {
    const { maxChannels } = this.context.settings;
    const message = `the credential has ${maxChannels} connections through its tunnels, which is the maximum`;
    if (performance.now() - this.toldAt > TELLING_MS) {
      this.toldAt = performance.now();
      this.terminal.say(`refused a connection: ${message}`);
    }
    return new Error(message);
  }

  private openChannel(bound: Endpoint, source: Endpoint): Promise<ServerChannel> {
    return new Promise((resolve, reject) => {
      let isLate = false;
      const timer = setTimeout(() => {
        isLate = true;
        reject(new Error('the client opened no channel'));
      }, MAX_OPENING_MS).unref();
      this.connection.once('close', reject);
      this.connection.forwardOut(bound.address, bound.port, source.address, source.port, (error, channel) => {
        clearTimeout(timer);
        this.connection.removeListener('close', reject);
        if (error !== undefined && error !== null) reject(error);
        else if (!isLate && takesPackets(channel)) resolve(channel);
        else reject(refused(channel));
      });
    });
  }
}

/** Closes a channel that has no reader. */
function refused(channel: ServerChannel): Error {
  channel.on('error', () => undefined).resume();
  channel.close();
  return new Error('the client takes no packets of a usable size, or took too long');
}
