import { once } from 'node:events';
import { createServer, type IncomingMessage, type Server, ServerResponse } from 'node:http';
import type { Socket } from 'node:net';
import type { Duplex } from 'node:stream';
import { messageOf } from '../../kernel/error-message.js';
import { OperatorError } from '../../kernel/operator-error.js';
import { Places } from '../../kernel/places.js';
import { Rate } from '../../kernel/rate.js';
import { sourceOf } from '../../rules/index.js';
import type { GatewayContext } from '../context/gateway-context.js';
import type { GatewayPart } from '../gateway-part.js';
import { isBalancer } from '../proxy-protocol/balancers.js';
import { answer, MAX_HEADER_BYTES, Visitor } from './visitor.js';

const MAX_HEADERS_MS = 10_000;
const CONNECTIONS_BURST_MS = 2_000;
const NAME = 'GATEWAY_HTTP_LISTEN';

/** Serves the domains that tunnels have bound, at one port. Node reads and writes each message anew. */
export class HttpServer implements GatewayPart {
  private readonly visitors = new WeakMap<Duplex, Visitor>();
  private readonly places: Places;
  private readonly waiting: Places;
  private readonly connections: Rate;
  private readonly server: Server;

  constructor(private readonly context: GatewayContext) {
    const { maxEdgeConnections, maxConnectionsPerSecond, idleMs } = context.settings;
    this.places = new Places([maxEdgeConnections]);
    this.waiting = new Places([maxEdgeConnections]);
    this.connections = new Rate(maxConnectionsPerSecond, CONNECTIONS_BURST_MS);
    const options = { maxHeaderSize: MAX_HEADER_BYTES, headersTimeout: MAX_HEADERS_MS, requestTimeout: 0 };
    const more = { keepAliveTimeout: idleMs, connectionsCheckingInterval: 1_000, noDelay: true };
    this.server = createServer({ ...options, ...more }, (request, response) => this.serve(request, response));
    // 0: Node leaves no header out, which could be a second Host.
    this.server.maxHeadersCount = 0;
    this.server.on('connection', (socket: Socket) => this.accept(socket));
    this.server.on('upgrade', (request, socket: Socket, head) => {
      const response = this.detachedResponse(request, socket);
      if (response !== undefined) this.serve(request, response, head);
    });
    this.server.on('connect', (request, socket: Socket) => {
      const response = this.detachedResponse(request, socket);
      if (response !== undefined) answer(response, 400, 'Bad request: the gateway is no forward proxy');
    });
  }

  async start(): Promise<void> {
    const { httpListen } = this.context.settings;
    if (httpListen === undefined) return;
    try {
      this.server.listen(httpListen);
      await once(this.server, 'listening');
    } catch (error) {
      throw new OperatorError(`${NAME} cannot be used: ${messageOf(error)}`);
    }
    // Accepting can fail for a moment, for example without a free file descriptor.
    this.server.on('error', (error) => this.context.failures.count(NAME, error));
    const at = this.server.address();
    const port = typeof at === 'object' ? at?.port : undefined;
    this.context.log.line('info', { host: httpListen.host, port }, 'serving HTTP for bound domains');
  }

  async stop(): Promise<void> {
    this.server.close();
    this.server.closeAllConnections();
  }

  private accept(socket: Socket): void {
    const { settings } = this.context;
    const source = sourceOf(socket.remoteAddress ?? '');
    const isProxy = (address: string): boolean => isBalancer(settings.httpProxies, address);
    socket.on('error', () => socket.destroy());
    // All visitors of a proxy come from its address. Its requests count by their names.
    if (!isProxy(socket.remoteAddress ?? '')) {
      const isWithin = this.connections.takeAtOnce(source);
      const place = isWithin ? this.places.hold([source], () => socket.destroy()) : undefined;
      if (place === undefined) {
        this.context.metrics.visits.inc({ outcome: 'too_many_connections' });
        return void socket.destroy();
      }
      socket.once('end', place.ended).once('close', place.leave);
    }
    this.visitors.set(socket, new Visitor(socket, this.context, isProxy, this.waiting));
  }

  private serve(request: IncomingMessage, response: ServerResponse, head?: Buffer): void {
    const visitor = this.visitors.get(request.socket);
    if (visitor === undefined) request.socket.destroy();
    else visitor.serve(request, response, head && { head });
  }

  /**
   * Node gives a request to upgrade no response, and does not read its connection any more. Such a request ends a
   * connection whose answer to an earlier request is not sent: Node throws then, for it has no place for two.
   */
  private detachedResponse(request: IncomingMessage, socket: Socket): ServerResponse | undefined {
    const response = new ServerResponse(request);
    response.shouldKeepAlive = false;
    try {
      response.assignSocket(socket);
    } catch {
      socket.destroy();
      return undefined;
    }
    response.once('finish', () => {
      response.detachSocket(socket);
      socket.destroySoon();
      response.emit('close');
    });
    return response;
  }
}
