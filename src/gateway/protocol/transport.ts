import type { Socket } from 'node:net';
import type { ParsedKey } from 'ssh2';
import type Protocol from 'ssh2/lib/protocol/Protocol.js';
import { messageOf } from '../../kernel/error-message.js';
import { eventLoop } from '../../kernel/event-loop.js';
import type { Path } from '../../kernel/fair-queue.js';
import { AdmittedProtocol } from './admitted-protocol.js';
import { Identification, lineOf } from './identification.js';
import { type MessageHandlers, requireFields } from './message-handlers.js';
import { StrangerLimits } from './stranger-limits.js';
import { Violation } from './violation.js';

export interface TransportOptions {
  /** The first one is preferred. */
  readonly hostKeys: readonly ParsedKey[];
  readonly algorithms: {
    readonly kex: readonly string[];
    readonly cipher: readonly string[];
    readonly hmac: readonly string[];
    readonly compress: readonly string[];
  };
  /** The source of the client. Its work counts for it until the login. */
  readonly source: string;
  readonly handlers: MessageHandlers;
  /** Called once, with the identification line of the client. */
  readonly identified: (line: string) => void;
  /** Called once, with the reason, if the connection fails. */
  readonly failed: (error: unknown) => void;
  /** Called after each key exchange. */
  readonly exchanged: () => void;
  /** Called once, before `failed`. Nothing is sent or read any more. */
  readonly closed: () => void;
}

const OWN_NAME = Buffer.from('tunnel-access');
const MAX_IDENTIFICATION_MS = 5_000;
const MAX_KEY_EXCHANGE_MS = 30_000;
/** The most bytes that may wait to be parsed. At this size the socket is paused. */
const MAX_RECEIVED_BYTES = 256 * 1024;
/** The size of a part is adapted so that it takes about this time. So other connections go on soon. */
const PART_MS = { min: 0.2, max: 0.5 };
/** A part gets smaller if it has more packets, so that a client which asks too fast is paused soon. */
const PART_PACKETS = 32;
const PART_BYTES = { min: 1024, max: 64 * 1024 };
/** Tunnels wait while this many bytes are unsent. */
const BUSY_BYTES = 1024 * 1024;
/**
 * With this many unsent bytes the client is not read: each request would add an answer. Tunnels alone do not reach it.
 */
const MAX_UNSENT_BYTES = 4 * 1024 * 1024;
const BY_APPLICATION = 11;
/** How long a failed connection stays open so that the client can read why. */
const MAX_FAREWELL_MS = 1_000;

/**
 * The packets of one connection, parsed in small parts between those of other connections. It applies the limits of
 * strangers, and makes tunnels wait during a key exchange and while the client does not read. Only this file and
 * `admitted-protocol.ts` use the library's transport.
 */
export class Transport {
  /** Whose CPU time its work is. All strangers together have one part. */
  private path: Path;
  private readonly protocol: AdmittedProtocol;
  private readonly received: Buffer[] = [];
  private receivedBytes = 0;
  /** Undefined once the identification line is whole. */
  private identification: Identification | undefined = new Identification();
  /** Undefined once the client has logged in. */
  private stranger: StrangerLimits | undefined = new StrangerLimits();
  private exchangeTimer: NodeJS.Timeout | undefined;
  private readonly identificationTimer: NodeJS.Timeout;
  private partBytes = PART_BYTES.min;
  private isWaiting = false;
  private isCorked = false;
  private readonly pauseReasons = new Set<string>();
  private onWritable: (() => void)[] = [];
  /** Packets received after the first key exchange. */
  private packets = 0;
  isOpen = true;

  constructor(
    readonly socket: Socket,
    private readonly options: TransportOptions,
  ) {
    this.path = ['strangers', options.source];
    this.protocol = this.newProtocol();
    this.identificationTimer = setTimeout(
      () => this.fail(new Violation('identification', `sent no identification line in ${MAX_IDENTIFICATION_MS} ms`)),
      MAX_IDENTIFICATION_MS,
    ).unref();
    socket.on('data', (data: Buffer) => this.attempt(() => this.take(data)));
    socket.on('drain', () => this.drained());
    // The event `close` follows, and what came before the error is still read.
    socket.on('error', () => undefined);
    socket.on('close', () => this.socketClosed());
    this.attempt(() => this.protocol.start());
  }

  /** Sends one message. Does nothing if the connection is over. */
  send(write: (protocol: Protocol) => void): void {
    if (this.isOpen) this.attempt(() => write(this.protocol));
  }

  /** Queues a piece of other work of this connection, such as sending bytes to its client. It never throws. */
  later(piece: () => void): void {
    eventLoop.enter(this.path, piece);
  }

  /** The client has logged in: the limits of strangers end, and its work counts for this path. */
  admit(path: Path): void {
    this.stranger = undefined;
    this.protocol.isLoggedIn = true;
    this.path = path;
  }

  /** Whether tunnels may send. During a key exchange the library would keep everything in an array. */
  get isWritable(): boolean {
    return this.socket.writableLength < BUSY_BYTES && this.protocol._kexinit === undefined;
  }

  /** Calls back once tunnels may send, or never if the connection ends before. */
  whenWritable(callback: () => void): void {
    if (!this.isOpen) return;
    if (this.isWritable) callback();
    else this.onWritable.push(callback);
  }

  /**
   * Stops parsing, until each reason is resumed. The socket still receives up to a limit, so that its end is noticed.
   */
  pause(reason: string): void {
    this.pauseReasons.add(reason);
  }

  resume(reason: string): void {
    if (this.pauseReasons.delete(reason) && this.pauseReasons.size === 0) this.goOn();
  }

  get isPaused(): boolean {
    return this.pauseReasons.size > 0;
  }

  /** The bytes that this connection holds in memory, without its channels. */
  get bufferedBytes(): number {
    return this.receivedBytes + (this.socket.destroyed ? 0 : this.socket.writableLength);
  }

  /** Sends a disconnect message and closes. After the time it closes even if the client keeps its side open. */
  end(maxClosingMs: number): void {
    if (!this.isOpen) return;
    this.attempt(() => this.protocol.disconnect(BY_APPLICATION));
    this.closeSocket(maxClosingMs);
  }

  /** Ends the connection because of an error. Every failure of this connection ends here. */
  fail(error: unknown): void {
    if (!this.isOpen) return;
    if (error instanceof Violation && error.farewell !== undefined) this.protocol.disconnectWith(error.farewell);
    this.closeSocket(MAX_FAREWELL_MS);
    this.options.failed(error);
  }

  /** Runs a function of this connection. An error that it throws ends the connection. */
  attempt(act: () => void): void {
    try {
      act();
    } catch (error) {
      this.fail(error);
    }
  }

  private readonly readPart = (): void => {
    this.isWaiting = false;
    if (!this.isOpen || this.mustWait) return;
    const [begin, packets, isWhole] = [performance.now(), this.packets, this.receivedBytes >= this.partBytes];
    this.attempt(() => this.parsePart());
    this.fitPart(performance.now() - begin, this.packets - packets, isWhole);
    if (!this.isOpen) return;
    if (this.receivedBytes === 0 && this.socket.destroyed) this.close();
    else if (this.receivedBytes < MAX_RECEIVED_BYTES / 2) this.socket.resume();
    if (this.receivedBytes > 0) this.goOn();
  };

  /** Adapts the size of the next part. `isWhole`: only a whole part can show that parts may be larger. */
  private fitPart(ms: number, packets: number, isWhole: boolean): void {
    const isLarge = ms > PART_MS.max || packets > PART_PACKETS;
    const factor = isLarge ? 0.5 : isWhole && ms < PART_MS.min ? 2 : 1;
    this.partBytes = Math.min(Math.max(this.partBytes * factor, PART_BYTES.min), PART_BYTES.max);
  }

  private get mustWait(): boolean {
    return !this.socket.destroyed && (this.isPaused || this.socket.writableLength > MAX_UNSENT_BYTES);
  }

  private take(data: Buffer): void {
    if (!this.isOpen) return;
    this.stranger?.received(data.length);
    const packets = this.identification === undefined ? data : this.identification.take(data);
    if (packets === undefined) return;
    if (this.identification !== undefined) this.identified(lineOf(packets));
    this.received.push(packets);
    this.receivedBytes += packets.length;
    if (this.receivedBytes >= MAX_RECEIVED_BYTES) this.socket.pause();
    this.goOn();
  }

  private identified(line: string): void {
    this.options.identified(line);
    this.identification = undefined;
    clearTimeout(this.identificationTimer);
  }

  private goOn(): void {
    if (this.isWaiting || this.mustWait || !this.isOpen || this.receivedBytes === 0) return;
    this.isWaiting = true;
    this.later(this.readPart);
  }

  private parsePart(): void {
    const part = this.nextPart();
    try {
      this.protocol.parse(part, 0, part.length);
    } catch (error) {
      if (this.isOpen) throw asViolation(error);
    }
    if (!this.isOpen) return;
    this.stranger?.read(this.protocol._decipher?.inSeqno ?? 0);
    this.superviseKeyExchange();
  }

  private nextPart(): Buffer {
    const [first = Buffer.alloc(0)] = this.received;
    const part = first.subarray(0, this.partBytes);
    if (part.length === first.length) this.received.shift();
    else this.received[0] = first.subarray(part.length);
    this.receivedBytes -= part.length;
    return part;
  }

  private superviseKeyExchange(): void {
    if (this.protocol._kexinit === undefined) return;
    this.stranger?.exchangesKeys();
    this.exchangeTimer ??= setTimeout(
      () => this.fail(new Violation('key_exchange', `did not finish a key exchange in ${MAX_KEY_EXCHANGE_MS} ms`)),
      MAX_KEY_EXCHANGE_MS,
    ).unref();
  }

  private exchanged(): void {
    this.stranger?.exchanged();
    clearTimeout(this.exchangeTimer);
    this.exchangeTimer = undefined;
    this.options.exchanged();
    this.wake();
  }

  private drained(): void {
    this.wake();
    this.goOn();
  }

  private wake(): void {
    const callbacks = this.onWritable;
    this.onWritable = [];
    for (const callback of callbacks) this.attempt(callback);
  }

  /** Sends the packets of one turn together. */
  private write(data: Buffer): void {
    if (!this.socket.writable) return;
    if (!this.isCorked) {
      this.isCorked = true;
      this.socket.cork();
      process.nextTick(() => {
        this.isCorked = false;
        this.socket.uncork();
      });
    }
    this.socket.write(data);
  }

  /** What a logged-in client sent before its end is still read. */
  private socketClosed(): void {
    if (this.receivedBytes === 0 || this.stranger !== undefined) this.close();
    else this.goOn();
  }

  private closeSocket(maxClosingMs: number): void {
    this.close();
    this.socket.pause();
    this.socket.destroySoon();
    const timer = setTimeout(() => this.socket.destroy(), maxClosingMs).unref();
    this.socket.once('close', () => clearTimeout(timer));
  }

  /** If a handler ends the connection, the following packets are not read either. */
  private guarded(handlers: MessageHandlers): MessageHandlers {
    const guard =
      (name: string, handle: (...fields: never[]) => void) =>
      (_: unknown, ...fields: never[]): void => {
        requireFields(name, fields);
        this.attempt(() => handle(...fields));
        if (!this.isOpen) throw new Violation('protocol', 'is no longer served');
      };
    return Object.fromEntries(Object.entries(handlers).map(([name, handle]) => [name, guard(name, handle)]));
  }

  private close(): void {
    if (!this.isOpen) return;
    this.isOpen = false;
    clearTimeout(this.identificationTimer);
    clearTimeout(this.exchangeTimer);
    this.received.length = this.receivedBytes = 0;
    this.onWritable = [];
    this.options.closed();
  }

  private newProtocol(): AdmittedProtocol {
    const { hostKeys, algorithms, handlers } = this.options;
    const { kex, cipher, hmac, compress } = algorithms;
    const oneWay = { cipher, mac: hmac, compress, lang: [] };
    const serverHostKey = hostKeys.map(({ type }) => type);
    const config = {
      server: true,
      ident: OWN_NAME,
      hostKeys: Object.fromEntries(hostKeys.map((key) => [key.type, key])),
      offer: { kex, serverHostKey, cs: oneWay, sc: oneWay },
      messageHandlers: this.guarded(handlers),
      onWrite: (data: Buffer) => this.write(data),
      onError: (error: Error) => {
        throw asViolation(error);
      },
      onPacket: () => {
        this.packets += 1;
      },
      onHandshakeComplete: () => this.exchanged(),
    };
    return new AdmittedProtocol(config, { kex: kex[0], hostKey: serverHostKey[0] });
  }
}

/** An error of the library while it parses is always a violation by the client, even if it is a TypeError. */
function asViolation(error: unknown): Violation {
  if (error instanceof Violation) return error;
  return new Violation('protocol', `broke the protocol: ${messageOf(error)}`);
}
