import type { Socket } from 'node:net';
import { omitUndefined } from '../../kernel/omit-undefined.js';
import { sourceOf } from '../../rules/index.js';
import type { GatewayContext } from '../context/gateway-context.js';
import { type SourceFields, sourceFields } from '../log/gateway-lines.js';
import type { OpenTunnel } from '../tunnels/open-tunnel.js';

interface ServedHostport {
  readonly hostport: string;
  readonly edge: string;
  readonly account: string;
}

/** A connection to an edge. */
interface RecordedConnection {
  readonly socket: Socket;
  /** The tunnel that carries it, if one does. */
  readonly tunnel: OpenTunnel | undefined;
  /** Why the gateway ended it. Undefined: a side closed it. */
  readonly endReason: string | undefined;
  /** The decision about it, with the place in a traffic policy that refused it. `logs`: JSON. */
  readonly admission: { readonly reason?: string; readonly place?: string; readonly logs?: string };
}

/**
 * Writes log lines and metrics about one connection to an edge: its begin and end, or why it was refused. The service is
 * told of the end of one that a tunnel carried.
 */
export class EdgeRecord {
  private readonly since = performance.now();
  private readonly fields: object;
  private readonly source: SourceFields;
  private readonly network: string;

  constructor(
    private readonly context: Pick<GatewayContext, 'lines' | 'metrics' | 'sessions'>,
    private readonly connection: RecordedConnection,
    private readonly at: ServedHostport,
  ) {
    const { socket } = connection;
    this.source = sourceFields(socket);
    this.fields = { ...at, ...this.source };
    this.network = sourceOf(socket.remoteAddress ?? '');
  }

  /** `outcome`: `carried`, or why the connection is closed. */
  decided(outcome: string): void {
    this.context.metrics.edgeConnections.inc({ outcome });
    const isCarried = outcome === 'carried';
    const { reason, place, logs } = this.connection.admission;
    const event = isCarried ? 'edge_connection_opened' : 'edge_connection_refused';
    const fields = { event, ...this.fields, ...(!isCarried && { outcome }), ...omitUndefined({ reason, place, logs }) };
    this.write(fields, isCarried ? 'carries a connection to an edge' : 'closed a connection to an edge');
    this.onceClosed(() => {
      if (isCarried) this.ended();
      // A tunnel can have carried a connection before the service said that the edge does not let it in.
      this.report();
    });
  }

  private onceClosed(act: () => void): void {
    const { socket } = this.connection;
    if (socket.destroyed) act();
    else socket.once('close', act);
  }

  private ended(): void {
    this.write({ event: 'edge_connection_ended', ...this.fields, ...this.used }, 'a connection to an edge ended');
  }

  private get used() {
    const { bytesRead, bytesWritten } = this.connection.socket;
    return { ms: Math.round(performance.now() - this.since), bytes_in: bytesRead, bytes_out: bytesWritten };
  }

  private report(): void {
    const { tunnel, endReason = 'closed', admission } = this.connection;
    if (tunnel?.reported === undefined) return;
    const { hostport, edge, account } = this.at;
    const { id, session } = tunnel.reported;
    this.context.sessions.endConnection({
      ...{ account_id: account, edge_id: edge, hostport, client: this.clientText() },
      ...{ session_id: session.id, tunnel_id: id, credential_id: tunnel.credentialId },
      ...{ ...this.used, reason: endReason, ...omitUndefined({ logs: admission.logs }) },
    });
  }

  private clientText(): string {
    const { source, source_port: port } = this.source;
    return `${source.includes(':') ? `[${source}]` : source}:${port}`;
  }

  private write(fields: object, message: string): void {
    this.context.lines.edges.line({ name: this.network, account: this.at.account }, fields, message);
  }
}
