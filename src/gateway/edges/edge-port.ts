import { once } from 'node:events';
import { createServer, type Server, type Socket } from 'node:net';
import { messageOf } from '../../kernel/error-message.js';
import type { Places } from '../../kernel/places.js';
import { sourceOf } from '../../rules/index.js';
import type { GatewayContext } from '../context/gateway-context.js';
import type { Endpoint } from '../endpoint.js';
import { proxyHeader } from '../proxy-protocol/proxy-header.js';
import { EdgeRecord } from '../records/edge-record.js';
import type { OpenTunnel } from '../tunnels/open-tunnel.js';
import type { Admissions } from './admissions.js';
import { EdgeConnection } from './edge-connection.js';
import { hasLabels, inTurn } from './matching-tunnels.js';
import type { ServedEdge, Serving } from './served-edge.js';

/** The parts that all edge ports of a gateway share. */
export interface EdgePortContext {
  readonly context: GatewayContext;
  readonly admissions: Admissions;
  /** The places for connections, by account and source. */
  readonly places: Places;
}

/** One hostport of edges: the listener, while an edge is served there, and the connections to that edge. */
export class EdgePort {
  private server: Server | undefined;
  private listening: Promise<boolean> | undefined;
  private readonly connections = new Set<EdgeConnection>();
  private turn = 0;
  private loggedReason: string | undefined;
  private readonly context: GatewayContext;
  /** The edge that is served here. */
  served: ServedEdge | undefined;
  concerns: ReadonlySet<string> = new Set();
  /** The account of the edge that is served here, or was the last one. */
  accountId: string | undefined;

  constructor(
    readonly hostport: string,
    private readonly at: Endpoint,
    private readonly shared: EdgePortContext,
  ) {
    this.context = shared.context;
  }

  /** Whether somebody may lose a right here. */
  get isServing(): boolean {
    return this.server !== undefined || this.connections.size > 0;
  }

  /**
   * Changes what is served here, and waits for no decision about an open connection, which would delay the next change.
   * A closed port opens only with `mayOpen`. Resolves with false if the gateway cannot listen at the address.
   */
  async apply({ served, refusal }: Serving, mayOpen: boolean): Promise<boolean> {
    this.served = served;
    this.accountId = served?.accountId ?? this.accountId;
    if (refusal !== undefined) this.logClosed(refusal);
    for (const connection of this.connections) {
      this.shared.admissions.admitAgain(connection, this).catch((error) => this.failed(error));
    }
    if (served === undefined) this.stopListening();
    else if (this.server === undefined && mayOpen) return this.startListening();
    return true;
  }

  /** Ends the listener and all connections. */
  close(): void {
    this.served = undefined;
    this.stopListening();
    for (const connection of this.connections) connection.end('edge_closed');
  }

  private failed(error: unknown): void {
    this.context.failures.count(this.hostport, error);
  }

  private startListening(): Promise<boolean> {
    this.listening ??= this.listen().finally(() => {
      this.listening = undefined;
    });
    return this.listening;
  }

  private async listen(): Promise<boolean> {
    const server = createServer({ allowHalfOpen: true, pauseOnConnect: true }, (socket) => {
      this.accept(socket).catch((error) => {
        socket.destroy();
        this.failed(error);
      });
    });
    try {
      server.listen({ host: this.at.address, port: this.at.port, exclusive: true });
      await once(server, 'listening');
      // Accepting can fail for a moment, for example without a free file descriptor.
      server.on('error', (error) => this.failed(error));
      // The port was closed while the server began to listen. A server that is closed earlier emits no event.
      if (this.served === undefined) server.close();
      else this.listensBy(server, this.served);
      return true;
    } catch (error) {
      this.logClosed(`the gateway cannot listen at ${this.at.address}:${this.at.port}: ${messageOf(error)}`);
      return false;
    }
  }

  private listensBy(server: Server, { id }: ServedEdge): void {
    this.server = server;
    this.loggedReason = undefined;
    this.context.metrics.servedPorts.inc();
    this.context.log.line('info', { hostport: this.hostport, edge: id }, 'serving an edge');
  }

  private stopListening(): void {
    if (this.server === undefined) return;
    this.server.close();
    this.server = undefined;
    this.context.metrics.servedPorts.dec();
    this.context.log.line('info', { hostport: this.hostport }, 'no longer serving an edge');
  }

  /** Logs each reason once, until the hostport is open again. */
  private logClosed(reason: string): void {
    if (reason === this.loggedReason) return;
    this.loggedReason = reason;
    this.context.log.line('warn', { hostport: this.hostport }, `${this.hostport} is closed: ${reason}`);
  }

  private async accept(socket: Socket): Promise<void> {
    if (this.served === undefined) return void socket.destroy();
    const { hostport } = this;
    const at = { hostport, edge: this.served.id, account: this.served.accountId };
    const connection = new EdgeConnection(socket, this.served, this.context.now());
    const record = new EdgeRecord(this.context, connection, at);
    const outcome = await this.outcomeOf(connection);
    record.decided(outcome);
    if (outcome !== 'carried') connection.end(outcome);
  }

  /** False if there is no place for the connection. */
  private enter(connection: EdgeConnection): boolean {
    const { metrics } = this.context;
    const place = this.shared.places.hold([connection.edge.accountId, sourceOf(connection.source.address)], () => {
      metrics.displacedEdgeConnections.inc();
      connection.end('displaced');
    });
    if (place === undefined) return false;
    this.connections.add(connection);
    metrics.openEdgeConnections.inc();
    connection.socket.once('end', place.ended).once('close', () => {
      place.leave();
      this.connections.delete(connection);
      metrics.openEdgeConnections.dec();
      metrics.edgeBytes.inc({ direction: 'in' }, connection.socket.bytesRead);
      metrics.edgeBytes.inc({ direction: 'out' }, connection.socket.bytesWritten);
    });
    return true;
  }

  private async outcomeOf(connection: EdgeConnection): Promise<string> {
    if (!this.enter(connection)) return 'too_many_connections';
    const { admissions } = this.shared;
    connection.admission = await admissions.admit(connection, this);
    if (connection.admission.refusal !== undefined) return connection.admission.refusal;
    const { accountId, labels } = connection.edge;
    const group = this.context.tunnels.ofAccount(accountId).filter((tunnel) => hasLabels(tunnel, labels));
    if (group.length === 0) return 'no_tunnel';
    this.turn += 1;
    const heard = group.filter(({ signs }) => !signs.isSilent);
    const isCarried = await connection.carryTo(inTurn(heard, this.turn), (tunnel) => this.header(tunnel, connection));
    if (!isCarried) return 'tunnels_failed';
    // The edge may have changed since the client arrived, and then the labels of the tunnel count again.
    if (this.served !== connection.edge) connection.admission = await admissions.admit(connection, this);
    return connection.admission.refusal ?? 'carried';
  }

  private header({ target }: OpenTunnel, { source, socket }: EdgeConnection): Buffer | undefined {
    const { edgeProxyProtocol } = this.context.settings;
    if (!('labels' in target)) return undefined;
    const isNamed = (all: ReadonlySet<string>) => target.labels.some(({ key, value }) => all.has(`${key}=${value}`));
    if (edgeProxyProtocol !== 'all' && !isNamed(edgeProxyProtocol)) return undefined;
    return proxyHeader(source, { address: socket.localAddress ?? '', port: socket.localPort ?? 0 });
  }
}
