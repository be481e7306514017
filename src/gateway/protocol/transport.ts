import type { Socket } from 'node:net';
import type { ParsedKey } from 'ssh2';
import type Protocol from 'ssh2/lib/protocol/Protocol.js';
import { messageOf } from '../../kernel/error-message.js';
import { AdmittedProtocol } from './admitted-protocol.js';
import { Identification, lineOf } from './identification.js';
import { type MessageHandlers, requireFields } from './message-handlers.js';
import { StrangerLimits } from './stranger-limits.js';
import type { Turns, Worker } from './turns.js';
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
  readonly turns: Turns;
  /** Its share of the turns of strangers. */
  readonly source: string;
  readonly handlers: MessageHandlers;
  /** Called once, with the identification line of the client. */
  readonly identified: (line: string) => void;
  /** Called once, with what ended the connection, if anything but its two ends did. */
  readonly failed: (error: unknown) => void;
  /** Called after each key exchange. */
  readonly exchanged: () => void;
  /** Called once, before `failed`: nothing is sent or read any more. */
  readonly closed: () => void;
}

const OWN_NAME = Buffer.from('tunnel-access');
const MAX_IDENTIFICATION_MS = 5_000;
const MAX_KEY_EXCHANGE_MS = 30_000;
/** What may wait to be parsed. Then the socket is paused. */
const MAX_RECEIVED_BYTES = 256 * 1024;
/** Parts are so large that they take this time, so that others have their turn soon. */
const PART_MS = { min: 0.2, max: 0.5 };
/** And have so many packets, so that a client that asks too fast is held soon. */
const PART_PACKETS = 32;
const PART_BYTES = { min: 1024, max: 64 * 1024 };
/** Tunnels wait from here on. */
const BUSY_BYTES = 1024 * 1024;
/** The client is read no further, since each of its requests has an answer. Tunnels alone do not reach this. */
const MAX_UNSENT_BYTES = 4 * 1024 * 1024;
const BY_APPLICATION = 11;
/** Time in which a client may read why its connection failed. */
const MAX_FAREWELL_MS = 1_000;

/**
 * The packets of one connection. It reads in turns, sees what a stranger sends, waits while the client does not read or
 * exchanges keys, and ends the connection by one function. Only it and `admitted-protocol.ts` know the library's transport.
 */
export class Transport implements Worker {
  share: string;
  private readonly protocol: AdmittedProtocol;
  private readonly received: Buffer[] = [];
  private receivedBytes = 0;
  /** Until the line is whole. */
  private identification: Identification | undefined = new Identification();
  /** Until login. */
  private stranger: StrangerLimits | undefined = new StrangerLimits();
  private exchangeTimer: NodeJS.Timeout | undefined;
  private readonly identificationTimer: NodeJS.Timeout;
  private partBytes = PART_BYTES.min;
  private isWaiting = false;
  private isCorked = false;
  private readonly holds = new Set<string>();
  private onWritable: (() => void)[] = [];
  /** Counts packets after the first key exchange, so that silence is noticed. */
  packets = 0;
  isOpen = true;

  constructor(
    readonly socket: Socket,
    private readonly options: TransportOptions,
  ) {
    this.share = options.source;
    this.protocol = this.newProtocol();
    this.identificationTimer = setTimeout(
      () => this.fail(new Violation('identification', `sent no identification line in ${MAX_IDENTIFICATION_MS} ms`)),
      MAX_IDENTIFICATION_MS,
    ).unref();
    socket.on('data', (data: Buffer) => this.attempt(() => this.take(data)));
    socket.on('drain', () => this.drained());
    // The end follows, and what came before it is still read.
    socket.on('error', () => undefined);
    socket.on('close', () => this.socketClosed());
    this.attempt(() => this.protocol.start());
  }

  /** Sends one message, or does nothing if the connection is over. */
  send(write: (protocol: Protocol) => void): void {
    if (this.isOpen) this.attempt(() => write(this.protocol));
  }

  /** Work of this connection that does not come from its client, such as bytes for it. */
  inTurn(work: Worker): void {
    this.options.turns.enter(work);
  }

  /** The client is known: the limits of strangers end, and its work belongs to this share. */
  admit(share: string): void {
    this.stranger = undefined;
    this.protocol.isLoggedIn = true;
    this.share = share;
  }

  /** Whether tunnels may send. While keys are exchanged the library would hold everything in an array. */
  get isWritable(): boolean {
    return this.socket.writableLength < BUSY_BYTES && this.protocol._kexinit === undefined;
  }

  /** Calls back once tunnels may send; never, if the connection ends before. */
  whenWritable(callback: () => void): void {
    if (!this.isOpen) return;
    if (this.isWritable) callback();
    else this.onWritable.push(callback);
  }

  /** Nothing of the client is parsed while anything holds it. A part of what it sends is received, so that its end is seen. */
  hold(reason: string): void {
    this.holds.add(reason);
  }

  release(reason: string): void {
    if (this.holds.delete(reason) && this.holds.size === 0) this.goOn();
  }

  get isHeld(): boolean {
    return this.holds.size > 0;
  }

  /** Everything that this connection holds in memory but its channels. */
  get bufferedBytes(): number {
    return this.receivedBytes + (this.socket.destroyed ? 0 : this.socket.writableLength);
  }

  /** Says goodbye and closes. A client that keeps its side open does not keep the connection. */
  end(maxClosingMs: number): void {
    if (!this.isOpen) return;
    this.attempt(() => this.protocol.disconnect(BY_APPLICATION));
    this.closeSocket(maxClosingMs);
  }

  /** The one end of every failure of this connection. */
  fail(error: unknown): void {
    if (!this.isOpen) return;
    this.closeSocket(MAX_FAREWELL_MS);
    this.options.failed(error);
  }

  /** Runs what belongs to this connection. What it throws ends the connection. */
  attempt(act: () => void): void {
    try {
      act();
    } catch (error) {
      this.fail(error);
    }
  }

  work(): void {
    this.isWaiting = false;
    if (!this.isOpen || this.mustWait) return;
    const [begin, packets, isWhole] = [performance.now(), this.packets, this.receivedBytes >= this.partBytes];
    this.attempt(() => this.parsePart());
    this.fitPart(performance.now() - begin, this.packets - packets, isWhole);
    if (!this.isOpen) return;
    if (this.receivedBytes === 0 && this.socket.destroyed) this.close();
    else if (this.receivedBytes < MAX_RECEIVED_BYTES / 2) this.socket.resume();
    if (this.receivedBytes > 0) this.goOn();
  }

  /** `isWhole`: less than a whole part says nothing about a larger one. */
  private fitPart(ms: number, packets: number, isWhole: boolean): void {
    const isLarge = ms > PART_MS.max || packets > PART_PACKETS;
    const factor = isLarge ? 0.5 : isWhole && ms < PART_MS.min ? 2 : 1;
    this.partBytes = Math.min(Math.max(this.partBytes * factor, PART_BYTES.min), PART_BYTES.max);
  }

  private get mustWait(): boolean {
    return !this.socket.destroyed && (this.isHeld || this.socket.writableLength > MAX_UNSENT_BYTES);
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
    if (this.stranger === undefined) this.options.turns.enter(this);
    else this.options.turns.enterStranger(this);
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
      () => this.fail(new Violation('key_exchange', `ended no key exchange in ${MAX_KEY_EXCHANGE_MS} ms`)),
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

  /** The packets of one turn leave together. */
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

  /** What a client sent before it closed its side is still read. */
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

  /** A handler that ends the connection also ends the reading of the packets behind. */
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

/** What the library throws is about the bytes of the client, also where it fails on them. */
function asViolation(error: unknown): Violation {
  if (error instanceof Violation) return error;
  return new Violation('protocol', `broke the protocol: ${messageOf(error)}`);
}
