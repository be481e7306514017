import type { Socket } from 'node:net';
import { type Address, parseAddress } from '../../rules/index.js';
import type { Endpoint } from '../endpoint.js';
import { carry } from '../tunnels/carry.js';
import { connectSoon } from '../tunnels/connect-soon.js';
import type { OpenTunnel } from '../tunnels/open-tunnel.js';
import { ADMITTED, type Admission } from './admission.js';
import { hasLabels } from './matching-tunnels.js';
import type { ServedEdge } from './served-edge.js';

const KEEPALIVE_MS = 30_000;

interface NumericEndpoint {
  readonly address: Address;
  readonly port: number;
}

/** A client of an edge, from its arrival to its end. */
export class EdgeConnection {
  readonly source: Endpoint;
  /** Both ends as numbers. Undefined if the connection was gone at once. */
  readonly client: NumericEndpoint | undefined;
  readonly server: NumericEndpoint | undefined;
  /** The last decision about it before it was carried or closed. */
  admission: Admission = ADMITTED;
  /** The tunnel that carries it. Undefined: none does yet. */
  tunnel: OpenTunnel | undefined;
  /** Why the gateway ended it. Undefined: a side closed it. */
  endReason: string | undefined;

  constructor(
    readonly socket: Socket,
    readonly edge: ServedEdge,
    readonly startedAtMs: number,
  ) {
    const { remoteAddress = '', remotePort = 0, localAddress = '', localPort = 0 } = socket;
    this.source = { address: remoteAddress, port: remotePort };
    this.client = numericEndpoint(remoteAddress, remotePort);
    this.server = numericEndpoint(localAddress, localPort);
    socket.setNoDelay(true);
    // The kernel notices a client that vanished some 10 s after this time.
    socket.setKeepAlive(true, KEEPALIVE_MS);
    socket.on('error', () => socket.destroy());
  }

  /** Whether the edge, as it is now, is still the edge of this client, with its tunnel. */
  belongsTo(edge: ServedEdge): boolean {
    return edge.id === this.edge.id && (this.tunnel === undefined || hasLabels(this.tunnel, edge.labels));
  }

  /** Carries the connection through the first tunnel that takes it. False if none does. */
  async carryTo(tunnels: readonly OpenTunnel[], header: (tunnel: OpenTunnel) => Buffer | undefined): Promise<boolean> {
    for (const tunnel of tunnels) {
      const stream = await connectSoon(tunnel, this.source);
      if (stream === undefined) continue;
      if (this.socket.destroyed) {
        stream.cut('the visitor is gone');
        return true;
      }
      this.tunnel = tunnel;
      const first = header(tunnel);
      if (first !== undefined) stream.write(first);
      carry(this.socket, stream);
      return true;
    }
    return false;
  }

  /** Resets a connection that carried bytes, so that its client does not take a part of the data for all of it. */
  end(reason: string): void {
    this.endReason ??= reason;
    if (this.tunnel === undefined) this.socket.destroy();
    else this.socket.resetAndDestroy();
  }
}

/** The zone of a link-local address counts for no rule. */
function numericEndpoint(text: string, port: number): NumericEndpoint | undefined {
  const address = parseAddress(text.replace(/%.*/, ''));
  return address && { address, port };
}
