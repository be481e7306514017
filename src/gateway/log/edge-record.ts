import type { Socket } from 'node:net';
import type { GatewayContext } from '../gateway-context.js';
import { sourceOf } from '../ssh/strangers.js';
import { sourceFields } from './gateway-lines.js';

interface ServedHostport {
  readonly hostport: string;
  readonly edge: string;
  readonly account: string;
}

/** Writes log lines and metrics about one connection to an edge: its begin and end, or why it was refused. */
export class EdgeRecord {
  private readonly since = performance.now();
  private readonly fields: object;
  private readonly network: string;

  constructor(
    private readonly context: Pick<GatewayContext, 'lines' | 'metrics'>,
    private readonly socket: Socket,
    private readonly at: ServedHostport,
  ) {
    this.fields = { ...at, ...sourceFields(socket) };
    this.network = sourceOf(socket.remoteAddress ?? '');
  }

  /** `outcome`: `carried`, or why the connection is closed. */
  decided(outcome: string): void {
    this.context.metrics.edgeConnections.inc({ outcome });
    if (outcome !== 'carried') {
      this.write({ event: 'edge_connection_refused', ...this.fields, outcome }, 'closed a connection to an edge');
      return;
    }
    this.write({ event: 'edge_connection_opened', ...this.fields }, 'carries a connection to an edge');
    if (this.socket.destroyed) this.ended();
    else this.socket.once('close', () => this.ended());
  }

  private ended(): void {
    const { bytesRead, bytesWritten } = this.socket;
    const ms = Math.round(performance.now() - this.since);
    const used = { ms, bytes_in: bytesRead, bytes_out: bytesWritten };
    this.write({ event: 'edge_connection_ended', ...this.fields, ...used }, 'a connection to an edge ended');
  }

  private write(fields: object, message: string): void {
    this.context.lines.edges.line({ name: this.network, account: this.at.account }, fields, message);
  }
}
