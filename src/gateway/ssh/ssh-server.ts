import { once } from 'node:events';
import { createServer, type Server, type Socket } from 'node:net';
import ssh2, { type Connection } from 'ssh2';
import { messageOf } from '../../error-message.js';
import { OperatorError } from '../../operator-error.js';
import type { GatewayContext } from '../gateway-context.js';
import type { GatewayPart } from '../gateway-part.js';
import type { ListenAddress } from '../gateway-settings.js';
import { Limits } from '../limits.js';
import { ALGORITHMS } from './algorithms.js';
import { ClientConnection } from './client-connection.js';
import { loadHostKey } from './host-key.js';
import { Intake } from './intake.js';
import { Login } from './login.js';
import { Strangers } from './strangers.js';

const KEEPALIVES = 3;

/** Takes SSH connections, and lets in the clients that log in. */
export class SshServer implements GatewayPart {
  readonly hostKey;
  private readonly limits: Limits;
  private readonly server: Server;
  private readonly sockets = new Set<Socket>();
  private readonly strangers: Strangers;

  constructor(private readonly context: GatewayContext) {
    this.hostKey = loadHostKey(context.settings.hostKeyFile);
    this.limits = new Limits(context.settings);
    this.strangers = new Strangers(context.settings.maxStrangers);
    this.server = createServer({ noDelay: true }, (socket) => this.take(socket));
  }

  async start(): Promise<void> {
    try {
      this.server.listen(this.context.settings.sshListen);
      await once(this.server, 'listening');
    } catch (error) {
      throw new OperatorError(`GATEWAY_LISTEN cannot be used: ${messageOf(error)}`);
    }
    this.server.on('error', (error) => this.context.log.line('error', {}, messageOf(error)));
  }

  async stop(): Promise<void> {
    this.server.close();
    for (const socket of this.sockets) socket.destroy();
  }

  get address(): ListenAddress {
    const address = this.server.address();
    if (address === null || typeof address === 'string') return this.context.settings.sshListen;
    return { host: address.address, port: address.port };
  }

  private take(socket: Socket): void {
    const leave = this.strangers.take(socket.remoteAddress ?? '');
    if (leave === undefined) {
      socket.destroy();
      return;
    }
    this.sockets.add(socket);
    const grace = setTimeout(() => socket.destroy(), this.context.settings.loginGraceMs).unref();
    const known = (): void => {
      leave();
      clearTimeout(grace);
    };
    socket.once('close', () => {
      known();
      this.sockets.delete(socket);
    });
    this.shakeHands(socket, known);
  }

  /** A server of its own for each connection: the library does not say which socket a connection belongs to. */
  private shakeHands(socket: Socket, known: () => void): void {
    const { keepaliveMs } = this.context.settings;
    const options = {
      hostKeys: [{ key: this.hostKey.key }],
      algorithms: ALGORITHMS,
      ident: 'tunnel-access',
      keepaliveInterval: keepaliveMs,
      keepaliveCountMax: KEEPALIVES,
    };
    new ssh2.Server(options, (connection) => this.logIn(connection, socket, known)).injectSocket(socket);
  }

  private logIn(connection: Connection, socket: Socket, known: () => void): void {
    const end = (): void => {
      connection.end();
      socket.destroySoon();
    };
    const intake = new Intake(socket);
    const login = new Login(this.context, socket.remoteAddress ?? '', end);
    connection.on('authentication', (request) => void login.answer(request));
    connection.on('error', () => socket.destroy());
    connection.once('ready', () => {
      known();
      if (login.identity === undefined || socket.destroyed) socket.destroy();
      else new ClientConnection(this.context, connection, intake, login.identity, this.limits);
    });
  }
}
