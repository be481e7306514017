import { Counter, collectDefaultMetrics, Gauge, Registry } from 'prom-client';
import type { ServiceState } from '../rights/service-state.js';
import type { OpenTunnels } from '../tunnels/open-tunnels.js';
import type { BufferBudget } from './buffer-budget.js';

/** The metrics of this gateway. Labels name no account, key or address. */
export class GatewayMetrics {
  readonly registry = new Registry();
  /** `direction`: `in` to the client of the tunnel, `out` from it. */
  readonly bytes = this.counter('bytes_total', 'Bytes that tunnels carried.', 'direction');
  readonly refusedBinds = this.counter('refused_binds_total', 'Binds that were refused.', 'reason');
  readonly logins = this.counter('logins_total', 'Attempts to log in.', 'outcome');
  readonly clients = this.gauge('clients', 'Connections that have logged in.');
  readonly openedTunnels = new Counter({
    name: 'tunnel_gateway_opened_tunnels_total',
    help: 'Tunnels that were opened.',
    registers: [this.registry],
  });
  /** `reason`: `client`, `cancelled`, why its right was lost, or why the gateway ended its client. */
  readonly endedTunnels = this.counter('ended_tunnels_total', 'Tunnels that ended.', 'reason');
  /** `outcome`: `carried`, or why the connection was closed at once. */
  readonly edgeConnections = this.counter('edge_connections_total', 'Connections to edges.', 'outcome');

  /** `direction`: `in` from clients of edges, `out` to them. */
  readonly edgeBytes = this.counter('edge_bytes_total', 'Bytes of closed connections to edges.', 'direction');
  readonly displacedEdgeConnections = new Counter({
    name: 'tunnel_gateway_displaced_edge_connections_total',
    help: 'Connections to edges that ended because another one took their place.',
    registers: [this.registry],
  });
  readonly servedPorts = this.gauge('served_hostports', 'Hostports of edges at which the gateway listens.');
  readonly openEdgeConnections = this.gauge('edge_connections', 'Open connections to edges.');
  /** `outcome`: `carried` by a channel of its own, or why the gateway answered itself. */
  readonly visits = this.counter(
    'http_visits_total',
    'Channels of visitors of names, and requests that none carried.',
    'outcome',
  );

  readonly reportFailures = new Counter({
    name: 'tunnel_gateway_report_failures_total',
    help: 'Reports about sessions that the service did not take.',
    registers: [this.registry],
  });

  /** `reason`: why the gateway ended it; `internal` is a fault of the gateway. */
  readonly endedConnections = this.counter('ended_connections_total', 'Connections that the gateway ended.', 'reason');
  /** `reason`: `rate` of its source, or `full`: there was no place, or another stranger took it. */
  readonly refusedConnections = this.counter(
    'refused_connections_total',
    'Connections that were closed before a login.',
    'reason',
  );

  constructor(tunnels: OpenTunnels, buffers: BufferBudget, serviceState: ServiceState) {
    // Each series begins with 0, so that an alert sees the first increase.
    this.endedConnections.inc({ reason: 'internal' }, 0);
    for (const reason of ['rate', 'full']) this.refusedConnections.inc({ reason }, 0);
    this.measured('tunnels', 'Open tunnels.', () => tunnels.size);
    this.measured('buffered_bytes_limit', 'GATEWAY_MAX_BUFFERED_BYTES.', () => buffers.maxBytes);
    this.measured('buffered_bytes', 'Bytes that wait for slow readers.', () => buffers.bufferedBytes);
    this.measured('following', '1 if the gateway hears of every change of the service, else 0.', () =>
      serviceState.isFollowing ? 1 : 0,
    );
  }

  /** Adds the metrics of the process and of Node. */
  collectDefaults(): void {
    collectDefaultMetrics({ register: this.registry });
  }

  private measured(name: string, help: string, value: () => number): void {
    const registers = [this.registry];
    new Gauge({
      name: `tunnel_gateway_${name}`,
      help,
      registers,
      collect() {
        this.set(value());
      },
    });
  }

  private gauge(name: string, help: string): Gauge {
    return new Gauge({ name: `tunnel_gateway_${name}`, help, registers: [this.registry] });
  }

  private counter<Label extends string>(name: string, help: string, label: Label): Counter<Label> {
    return new Counter({ name: `tunnel_gateway_${name}`, help, labelNames: [label], registers: [this.registry] });
  }
}
