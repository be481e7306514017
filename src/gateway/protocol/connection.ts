import type { Socket } from 'node:net';
import type { Path } from '../../kernel/fair-queue.js';
import type { ChannelLink } from './channel-link.js';
import { Channels, type OpenChannel } from './channels.js';
import { type Answer, GlobalRequests } from './global-requests.js';
import type { MessageHandlers } from './message-handlers.js';
import { SignsOfLife } from './signs-of-life.js';
import { Transport, type TransportOptions } from './transport.js';
import { Violation } from './violation.js';

/** The request of a client to log in. */
export interface AuthenticationRequest {
  readonly method: string;
  /** Undefined for other methods than `publickey`. */
  readonly key: OfferedKey | undefined;
}

/** A public key that a client offers, with a signature if the client logs in with it. */
export interface OfferedKey {
  readonly keyAlgo: string;
  readonly key: Buffer;
  readonly hashAlgo: string | undefined;
  readonly signature: Buffer | undefined;
  /** The bytes that were signed. */
  readonly blob: Buffer | undefined;
}

/** What a connection calls for a client that has logged in. */
export interface ClientService {
  /** Called for each request of the client and each key exchange. It may pause the reading of further requests. */
  count(kind: 'request' | 'key exchange'): void;
  bind(address: string, port: number): Promise<Answer>;
  cancel(address: string, port: number): boolean;
  openSession(link: ChannelLink): OpenChannel | undefined;
  /** The client has too many requests without an answer. The connection takes no further one. */
  overflowed(max: number): void;
}

export interface ConnectionOptions extends Omit<TransportOptions, 'handlers' | 'closed' | 'exchanged'> {
  readonly maxPending: number;
  readonly keepaliveMs: number;
  authenticate(request: AuthenticationRequest): void;
  /** The client says that it leaves. */
  left(): void;
}

const METHODS = ['publickey'];

/** The server side of one SSH connection: login by key, then requests and channels. Any other message ends it. */
export class Connection {
  readonly transport: Transport;
  readonly channels: Channels;
  readonly signs: SignsOfLife;
  private readonly requests: GlobalRequests;
  private readonly keepalive: NodeJS.Timeout;
  private readonly onClosed: (() => void)[] = [];
  private hasService = false;
  private isAsking = false;
  private client: ClientService | undefined;
  private takesSessions = true;

  constructor(
    socket: Socket,
    private readonly options: ConnectionOptions,
  ) {
    this.transport = new Transport(socket, {
      ...options,
      handlers: this.handlers(),
      exchanged: () => this.client?.count('key exchange'),
      closed: () => this.closed(),
    });
    this.channels = new Channels(this.transport);
    this.signs = new SignsOfLife(this);
    socket.on('data', () => this.signs.heard());
    this.requests = new GlobalRequests(this.transport, options.maxPending, () =>
      this.client?.overflowed(options.maxPending),
    );
    this.keepalive = setInterval(() => this.transport.attempt(() => this.beat()), options.keepaliveMs).unref();
  }

  get isPaused(): boolean {
    return this.transport.isPaused;
  }

  /** Sends a request that the client answers. */
  ping(): void {
    this.transport.send((protocol) => protocol.ping());
  }

  onceClosed(act: () => void): void {
    this.onClosed.push(act);
  }

  /** Answers a request to log in: the client may sign with this key. */
  maySign({ keyAlgo, key, hashAlgo }: OfferedKey): void {
    this.isAsking = false;
    const algorithm = hashAlgo === undefined ? keyAlgo : hashAlgo === 'sha256' ? 'rsa-sha2-256' : 'rsa-sha2-512';
    this.transport.send((protocol) => protocol.authPKOK(algorithm, key));
  }

  rejectLogin(): void {
    this.isAsking = false;
    this.transport.send((protocol) => protocol.authFailure(METHODS));
  }

  /** `path`: whose CPU time the work of this connection is from now on. */
  acceptLogin(client: ClientService, path: Path): void {
    this.isAsking = false;
    this.client = client;
    this.transport.admit(path);
    this.transport.send((protocol) => protocol.authSuccess());
  }

  private closed(): void {
    clearInterval(this.keepalive);
    this.signs.closed();
    this.channels.lost();
    for (const act of this.onClosed) act();
  }

  private beat(): void {
    if (this.client === undefined) return;
    this.signs.beat();
    if (!this.transport.isPaused) this.channels.checkAnswers();
  }

  private handlers(): MessageHandlers {
    return {
      DISCONNECT: () => {
        this.options.left();
        this.transport.end(0);
      },
      SERVICE_REQUEST: (name: string) => this.serviceRequested(name),
      USERAUTH_REQUEST: (_: string, service: string, method: string, data: unknown) =>
        this.authenticationRequested(service, method, data),
      ...this.requestHandlers(),
      ...this.channelHandlers(),
    };
  }

  private requestHandlers(): MessageHandlers {
    return {
      GLOBAL_REQUEST: (name: string, wantsReply: boolean, data: unknown) => {
        const client = this.countedClient();
        const at = data as { readonly bindAddr: string; readonly bindPort: number };
        if (name === 'tcpip-forward') {
          this.requests.add(wantsReply, at.bindPort === 0, () => client.bind(at.bindAddr, at.bindPort));
        } else if (name === 'cancel-tcpip-forward') {
          this.requests.addLast(wantsReply, () => client.cancel(at.bindAddr, at.bindPort));
        } else {
          const isKnown = name === 'no-more-sessions@openssh.com';
          if (isKnown) this.takesSessions = false;
          this.requests.addLast(wantsReply, () => isKnown);
        }
      },
    };
  }

  private channelHandlers(): MessageHandlers {
    return {
      CHANNEL_OPEN: ({ type, sender, window, packetSize }: OpenMessage) => {
        const client = this.countedClient();
        const open = (link: ChannelLink) => (this.takesSessions ? client.openSession(link) : undefined);
        this.channels.askedFor(type, { id: sender, window, packetSize }, open);
      },
      CHANNEL_OPEN_CONFIRMATION: ({ recipient, sender, window, packetSize }: ConfirmationMessage) =>
        this.channels.confirmed(recipient, { id: sender, window, packetSize }),
      CHANNEL_OPEN_FAILURE: (local: number, _: number, text: string) => this.channels.refused(local, text),
      CHANNEL_DATA: (local: number, data: Buffer) => this.channels.received(local, data),
      // On no channel of this gateway may a client send a second stream of data.
      CHANNEL_EXTENDED_DATA: () => this.refuse('CHANNEL_EXTENDED_DATA'),
      CHANNEL_WINDOW_ADJUST: (local: number, bytes: number) => this.channels.adjusted(local, bytes),
      CHANNEL_EOF: (local: number) => this.channels.ended(local),
      CHANNEL_CLOSE: (local: number) => this.channels.closed(local),
      CHANNEL_REQUEST: (local: number, type: string, wantsReply: boolean, data: unknown) => {
        this.countedClient();
        this.channels.requested(local, type, wantsReply, data);
      },
    };
  }

  private serviceRequested(name: string): void {
    if (this.hasService || name !== 'ssh-userauth') this.refuse('SERVICE_REQUEST');
    this.hasService = true;
    this.transport.send((protocol) => protocol.serviceAccept(name));
  }

  private authenticationRequested(service: string, method: string, data: unknown): void {
    if (!this.hasService || service !== 'ssh-connection') this.refuse('USERAUTH_REQUEST');
    if (this.isAsking) throw new Violation('login_limit', 'asked to log in again before the answer');
    this.isAsking = true;
    const key = method === 'publickey' ? (data as OfferedKey) : undefined;
    this.options.authenticate({ method, key });
  }

  /** Before the login the transport refuses every message that needs a client. */
  private countedClient(): ClientService {
    const client = this.client ?? this.refuse('a request');
    client.count('request');
    return client;
  }

  private refuse(message: string): never {
    throw new Violation('protocol', `sent ${message}, which a client must not send now`);
  }
}

interface OpenMessage {
  readonly type: string;
  readonly sender: number;
  readonly window: number;
  readonly packetSize: number;
}

interface ConfirmationMessage extends OpenMessage {
  readonly recipient: number;
}
