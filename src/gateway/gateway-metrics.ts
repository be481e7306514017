import { Counter, Gauge, Registry } from 'prom-client';
import type { OpenTunnels } from './tunnels/open-tunnels.js';

/** The metrics of this gateway. Labels name no account, key or address. */
export class GatewayMetrics {
  readonly registry = new Registry();
  /** `direction`: `in` to the client of the tunnel, `out` from it. */
  readonly bytes = this.counter('bytes_total', 'Bytes that tunnels carried.', 'direction');
  readonly refusedBinds = this.counter('refused_binds_total', 'Binds that were refused.', 'reason');
  readonly logins = this.counter('logins_total', 'Attempts to log in.', 'outcome');
  /** `outcome`: `carried`, or why the connection was closed at once. */
  readonly edgeConnections = this.counter('edge_connections_total', 'Connections to edges.', 'outcome');

  constructor(tunnels: OpenTunnels) {
    new Gauge({
      name: 'tunnel_gateway_tunnels',
      help: 'Open tunnels.',
      registers: [this.registry],
      collect() {
        this.set(tunnels.size);
      },
    });
  }

  private counter<Label extends string>(name: string, help: string, label: Label): Counter<Label> {
    return new Counter({ name: `tunnel_gateway_${name}`, help, labelNames: [label], registers: [this.registry] });
  }
}
