import type { Place } from '../../kernel/places.js';
import type { GatewayContext } from '../context/gateway-context.js';
import type { Endpoint } from '../endpoint.js';
import type { ChannelLink } from '../protocol/channel-link.js';
import type { Connection } from '../protocol/connection.js';
import { NotCarried } from '../protocol/not-carried.js';
import { TunnelChannel } from '../protocol/tunnel-channel.js';
import type { TunnelRecord } from '../records/tunnel-record.js';
import type { ClientUsage } from './limits.js';
import type { Terminal } from './terminal.js';

const MAX_OPENING_MS = 10_000;
/** The terminal shows at most one refused connection in this time, since there can be many. */
const TELLING_MS = 10_000;
/** So many channels may wait for the client to close them too, after another visitor got their place. */
const MAX_UNCLOSED = 100;

/** A channel from the question to the client on. */
interface Opening {
  giveUp(why: string): void;
  /** Both sides have closed it. */
  closed(): void;
}

/** The channels that the gateway opens to one client, for connections to its binds. */
export class ClientChannels {
  private toldAt = Number.NEGATIVE_INFINITY;
  private unclosed = 0;

  constructor(
    private readonly connection: Connection,
    private readonly usage: ClientUsage,
    private readonly context: Pick<GatewayContext, 'metrics' | 'settings'>,
    private readonly terminal: Terminal,
  ) {}

  /** `bound`: the bind as the client asked for it. Rejects if the client refuses, is gone, or has too many channels. */
  async open(bound: Endpoint, source: Endpoint, record: TunnelRecord): Promise<TunnelChannel> {
    if (!this.connection.transport.isOpen) throw new NotCarried('the client is gone');
    if (this.unclosed >= MAX_UNCLOSED) throw new NotCarried('the client does not close its channels');
    const opening: Opening = { giveUp: () => undefined, closed: () => undefined };
    const place = this.usage.takeChannel(source.address, () => this.displace(opening));
    if (typeof place === 'string') throw this.tooMany(place);
    opening.closed = place.leave;
    return this.ask(bound, source, record, opening, place);
  }

  count(direction: 'in' | 'out', bytes: number): number {
    this.context.metrics.bytes.inc({ direction }, bytes);
    return this.usage.pauseAfterBytes(bytes);
  }

  private tooMany(message: string): Error {
    if (performance.now() - this.toldAt > TELLING_MS) {
      this.toldAt = performance.now();
      this.terminal.say(`refused a connection: ${message}`);
    }
    return new NotCarried(message);
  }

  private displace(opening: Opening): void {
    this.unclosed += 1;
    opening.closed = () => {
      this.unclosed -= 1;
    };
    opening.giveUp('another visitor needs its place');
  }

  /** The channel counts until both sides have closed it, even if it was opened too late. */
  private ask(
    bound: Endpoint,
    source: Endpoint,
    record: TunnelRecord,
    opening: Opening,
    place: Place,
  ): Promise<TunnelChannel> {
    const addresses = {
      boundAddr: bound.address,
      boundPort: bound.port,
      remoteAddr: source.address,
      remotePort: source.port,
    };
    return new Promise((resolve, reject) => {
      let isLate = false;
      opening.giveUp = (why) => {
        isLate = true;
        reject(new NotCarried(why));
      };
      const timer = setTimeout(() => opening.giveUp('the client opened no channel'), MAX_OPENING_MS).unref();
      const answered = (answer: ChannelLink | Error): TunnelChannel | undefined => {
        clearTimeout(timer);
        if (answer instanceof Error) reject(answer);
        if (answer instanceof Error || isLate) return undefined;
        const { transport } = this.connection;
        const channel = new TunnelChannel(answer, transport, record.metered(this), this.context.settings);
        channel.once('visitorEnd', place.ended);
        opening.giveUp = (why) => channel.cut(why);
        resolve(channel);
        return channel;
      };
      this.connection.channels.ask(addresses, answered, () => opening.closed());
    });
  }
}
