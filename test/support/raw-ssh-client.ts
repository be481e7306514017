import { readFileSync } from 'node:fs';
import { connect, type Socket } from 'node:net';
import ssh2, { type ParsedKey } from 'ssh2';
import Protocol from 'ssh2/lib/protocol/Protocol.js';
import { stopAtEnd } from './leftovers.js';

/** The part of the library's transport that a test uses as a client. */
interface ClientProtocol {
  service(name: string): void;
  authPK(user: string, key: ParsedKey, algorithm: undefined, sign: Sign): void;
  rekey(): void;
  readonly _packetRW: {
    readonly write: { allocStart: number; alloc(size: number): Buffer; finalize(b: Buffer): Buffer };
  };
  readonly _cipher: { encrypt(packet: Buffer): void };
}
type Sign = (data: Buffer, done: (signature: Buffer) => void) => void;

export interface Received {
  readonly name: string;
  // biome-ignore lint/suspicious/noExplicitAny: the fields of a message
  readonly fields: readonly any[];
}

const NAMES = [
  ...['DISCONNECT', 'SERVICE_ACCEPT', 'EXT_INFO', 'USERAUTH_FAILURE', 'USERAUTH_SUCCESS', 'USERAUTH_PK_OK'],
  ...['GLOBAL_REQUEST', 'REQUEST_SUCCESS', 'REQUEST_FAILURE', 'CHANNEL_OPEN', 'CHANNEL_OPEN_CONFIRMATION'],
  ...['CHANNEL_OPEN_FAILURE', 'CHANNEL_WINDOW_ADJUST', 'CHANNEL_DATA', 'CHANNEL_EXTENDED_DATA', 'CHANNEL_EOF'],
  ...['CHANNEL_CLOSE', 'CHANNEL_REQUEST', 'CHANNEL_SUCCESS', 'CHANNEL_FAILURE'],
];

/** A client that sends any messages of a test in any order. It answers nothing by itself. */
export class RawSshClient {
  readonly received: Received[] = [];
  private readonly protocol: ClientProtocol;
  private readonly waiting: { readonly name: string; readonly found: (message: Received) => void }[] = [];
  private handshakes = 0;
  readonly closed: Promise<void>;
  onMessage: (message: Received) => void = () => undefined;

  private constructor(readonly socket: Socket) {
    const handler =
      (name: string) =>
      (_: unknown, ...fields: unknown[]): void =>
        this.take({ name, fields });
    this.protocol = new Protocol({
      messageHandlers: Object.fromEntries(NAMES.map((name) => [name, handler(name)])),
      onWrite: (data: Buffer) => socket.destroyed || socket.write(data),
      onError: () => socket.destroy(),
      onHandshakeComplete: () => {
        this.handshakes += 1;
        this.take({ name: 'HANDSHAKE', fields: [] });
      },
    }) as unknown as ClientProtocol;
    this.closed = new Promise((resolve) => socket.once('close', () => resolve()));
    socket.on('error', () => undefined);
    stopAtEnd(async () => void socket.destroy());
  }

  /** Connects, and exchanges keys. */
  static async connect(port: number, localAddress = '127.0.0.1'): Promise<RawSshClient> {
    const socket = connect({ host: '127.0.0.1', port, localAddress, noDelay: true });
    const client = new RawSshClient(socket);
    const protocol = client.protocol as unknown as Protocol;
    socket.on('data', (data: Buffer) => {
      try {
        protocol.parse(data, 0, data.length);
      } catch {
        socket.destroy();
      }
    });
    protocol.start();
    await client.next('HANDSHAKE');
    return client;
  }

  /** Connects and logs in with the private key in this file. */
  static async logIn(port: number, keyFile: string, localAddress?: string): Promise<RawSshClient> {
    const client = await RawSshClient.connect(port, localAddress);
    await client.authenticate(keyFile);
    return client;
  }

  /** Requests the service ssh-userauth. */
  async begin(): Promise<void> {
    this.protocol.service('ssh-userauth');
    await this.next('SERVICE_ACCEPT');
  }

  async authenticate(keyFile: string): Promise<void> {
    await this.begin();
    this.sign(keyFile);
    await this.next('USERAUTH_SUCCESS');
  }

  /** Tries this many times to log in with a key that the service does not know. */
  async refused(keyFile: string, times: number): Promise<void> {
    await this.begin();
    for (let n = 0; n < times; n += 1) {
      const refusal = this.next('USERAUTH_FAILURE');
      this.sign(keyFile);
      await refusal;
    }
    this.destroy();
  }

  /** Sends a request to log in with a valid signature. */
  sign(keyFile: string): void {
    const key = ssh2.utils.parseKey(readFileSync(keyFile)) as ParsedKey;
    this.protocol.authPK('any', key, undefined, (bytes, done) => done(key.sign(bytes) as Buffer));
  }

  /** Sends these payloads, each in a packet, in one piece. */
  send(...payloads: readonly Buffer[]): void {
    if (this.socket.destroyed) return;
    this.socket.cork();
    for (const payload of payloads) {
      const { write } = this.protocol._packetRW;
      const packet = write.alloc(payload.length);
      packet.set(payload, write.allocStart);
      this.protocol._cipher.encrypt(write.finalize(packet));
    }
    this.socket.uncork();
  }

  /** Begins a key exchange. */
  rekey(): void {
    this.protocol.rekey();
  }

  /** The next message of this name. Rejects if the connection ends before. */
  async next(name: string): Promise<Received> {
    const ended = this.closed.then(() => {
      throw new Error(`the connection ended before ${name}`);
    });
    ended.catch(() => undefined);
    return Promise.race([new Promise<Received>((found) => this.waiting.push({ name, found })), ended]);
  }

  /** Resolves with true once the connection is closed, or with false after this time. */
  async isEndedWithin(ms: number): Promise<boolean> {
    let timer: NodeJS.Timeout | undefined;
    const late = new Promise<false>((resolve) => {
      timer = setTimeout(() => resolve(false), ms);
    });
    const isEnded = await Promise.race([this.closed.then(() => true), late]);
    clearTimeout(timer);
    return isEnded;
  }

  destroy(): void {
    this.socket.destroy();
  }

  private take(message: Received): void {
    this.received.push(message);
    if (this.received.length > 10_000) this.received.splice(0, 5_000);
    this.onMessage(message);
    const at = this.waiting.findIndex(({ name }) => name === message.name);
    if (at >= 0) this.waiting.splice(at, 1)[0]?.found(message);
  }
}
