import { once } from 'node:events';
import { createServer, type Server, type Socket } from 'node:net';
import { messageOf } from '../../kernel/error-message.js';
import { OperatorError } from '../../kernel/operator-error.js';
import { Places } from '../../kernel/places.js';
import { Rate } from '../../kernel/rate.js';
import type { ListenAddress } from '../../kernel/settings/listen-address.js';
import { sourceOf } from '../../rules/index.js';
import type { GatewayContext } from '../context/gateway-context.js';
import type { GatewayPart } from '../gateway-part.js';
import { Connection } from '../protocol/connection.js';
import { isBalancer, takeHeader } from '../proxy-protocol/balancers.js';
import { ConnectionRecord } from '../records/connection-record.js';
import { ALGORITHMS } from './algorithms.js';
import { ClientConnection } from './client-connection.js';
import type { HostKey } from './host-key.js';
import { Limits } from './limits.js';
import { Login } from './login.js';

/** The limit of requests without an answer is at least this, since OpenSSH asks for all its binds at once. */
const MIN_MAX_PENDING = 1_000;
/** New connections that wait to be accepted. A client that finds no room tries again only after a second. */
const BACKLOG = 4_096;
const CONNECTIONS_BURST_MS = 2_000;
/**
 * How long a connection that has not logged in keeps its place against one of a source that has as many. It is the time of
 * a login while all places log in at once: without it, thousands of clients that come back together would drop each other
 * before any has logged in.
 */
const TENURE_MS = 10_000;

/** Accepts SSH connections, and serves the clients that log in. */
export class SshServer implements GatewayPart {
  private readonly limits: Limits;
  private readonly server: Server;
  private readonly sockets = new Set<Socket>();
  /** The places for connections that have not logged in, by their sources. */
  private readonly strangers: Places;
  private readonly connections: Rate;
  private isStopped = false;

  constructor(
    private readonly context: GatewayContext,
    readonly hostKeys: readonly [HostKey, ...HostKey[]],
  ) {
    const { settings } = context;
    this.limits = new Limits(settings);
    this.strangers = new Places([settings.maxStrangers], TENURE_MS);
    this.connections = new Rate(settings.maxConnectionsPerSecond, CONNECTIONS_BURST_MS);
    this.server = createServer({ pauseOnConnect: true }, (socket) => this.take(socket));
  }

  async start(): Promise<void> {
    try {
      this.server.listen({ ...this.context.settings.sshListen, backlog: BACKLOG });
      await once(this.server, 'listening');
    } catch (error) {
      throw new OperatorError(`GATEWAY_LISTEN cannot be used: ${messageOf(error)}`);
    }
    // Accepting can fail for a moment, for example without a free file descriptor.
    this.server.on('error', (error) => this.context.failures.count('GATEWAY_LISTEN', error));
  }

  async stop(): Promise<void> {
    this.isStopped = true;
    this.server.close();
    for (const socket of this.sockets) socket.destroy();
  }

  get address(): ListenAddress {
    const address = this.server.address();
    if (address === null || typeof address === 'string') return this.context.settings.sshListen;
    return { host: address.address, port: address.port };
  }

  /** Asked before anything of the connection is made or read. The header of a balancer names the client only later. */
  private mayCome(socket: Socket): boolean {
    const { remoteAddress = '' } = socket;
    return this.isBalancer(remoteAddress) || this.isWithinRate(socket, remoteAddress);
  }

  private isBalancer(address: string): boolean {
    return isBalancer(this.context.settings.proxyProtocolFrom, address);
  }

  private isWithinRate(socket: Socket, source: string): boolean {
    const isWithin = this.connections.takeAtOnce(sourceOf(source));
    if (!isWithin) new ConnectionRecord(this.context, socket, source).refused('rate');
    return isWithin;
  }

  private take(socket: Socket): void {
    if (!this.mayCome(socket)) return void socket.destroy();
    const { remoteAddress = '' } = socket;
    socket.setNoDelay(true).on('error', () => undefined);
    this.sockets.add(socket);
    socket.once('close', () => this.sockets.delete(socket));
    if (this.isBalancer(remoteAddress)) this.askBalancer(socket, remoteAddress);
    else this.admit(socket, remoteAddress);
    socket.resume();
  }

  /** Until the header names the client, the connection counts for the balancer. */
  private askBalancer(socket: Socket, balancer: string): void {
    const leave = this.takePlace(socket, balancer, new ConnectionRecord(this.context, socket, balancer));
    if (leave === undefined) return;
    takeHeader(socket, {
      found: (client) => {
        leave();
        const source = client ?? balancer;
        if (this.isWithinRate(socket, source)) this.admit(socket, source);
        else socket.destroy();
      },
      failed: (error) => {
        socket.destroy();
        this.context.failures.count(balancer, error);
      },
    });
  }

  /** Returns a function that gives the place back. The end of the connection gives it back too. Undefined: it is refused. */
  private takePlace(socket: Socket, address: string, record: ConnectionRecord): (() => void) | undefined {
    const drop = (): void => {
      record.refused('full');
      socket.destroy();
    };
    const place = this.strangers.hold([sourceOf(address)], drop);
    if (place === undefined) drop();
    else socket.once('close', place.leave);
    return place?.leave;
  }

  private admit(socket: Socket, source: string): void {
    const record = new ConnectionRecord(this.context, socket, source);
    const leave = this.takePlace(socket, source, record);
    if (leave === undefined) return;
    const grace = setTimeout(() => socket.destroy(), this.context.settings.loginGraceMs).unref();
    const known = (): void => {
      leave();
      clearTimeout(grace);
    };
    socket.once('close', () => clearTimeout(grace));
    this.shakeHands(socket, source, record, known);
  }

  private shakeHands(socket: Socket, source: string, record: ConnectionRecord, known: () => void): void {
    const { keepaliveMs, maxBinds } = this.context.settings;
    const network = sourceOf(source);
    const connection: Connection = new Connection(socket, {
      hostKeys: this.hostKeys.map(({ key }) => key),
      algorithms: ALGORITHMS,
      source: network,
      keepaliveMs,
      maxPending: Math.max(MIN_MAX_PENDING, maxBinds),
      authenticate: (request) => void login.answer(request).catch((error) => connection.transport.fail(error)),
      left: () => record.ends('client'),
      identified: (client) => record.identified(client),
      failed: (error) => {
        record.failed(error);
        this.context.failures.count(source, error);
      },
    });
    connection.onceClosed(() => {
      if (this.isStopped) record.ends('gateway_stopped');
      record.closed();
    });
    const login = new Login(this.context, record, {
      maySign: (key) => connection.maySign(key),
      reject: () => connection.rejectLogin(),
      accept: (identity) =>
        connection.transport.attempt(() => {
          if (!connection.transport.isOpen) return;
          known();
          record.accepted(identity);
          const who = { identity, source, network, record };
          const client = new ClientConnection(this.context, connection, who, this.limits);
          connection.acceptLogin(client, [identity.account_id, client.credentialId]);
        }),
    });
  }
}
