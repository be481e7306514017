import type { Socket } from 'node:net';
import { Duplex } from 'node:stream';
import { ByteQueue } from './byte-queue.js';
import type { ChannelLink } from './channel-link.js';
import type { OpenChannel } from './channels.js';
import type { Transport } from './transport.js';

export interface Meter {
  /** Counts bytes. Returns how long to wait after them, in milliseconds. */
  count(direction: 'in' | 'out', bytes: number): number;
}

/** After this time without a byte a connection is cut. */
interface MaxSilence {
  readonly idleMs: number;
  /** Once the visitor has ended its side. */
  readonly halfClosedMs: number;
}

const HIGH_WATER_MARK = 64 * 1024;
/** Once the client has closed the channel, the visitor must take some of the remaining bytes within this time. */
const MAX_UNREAD_MS = 10_000;

/**
 * A connection through a tunnel, as a stream of Node. Each side can end alone, and `visitorEnd` tells of the visitor's
 * end. It closes once both sides have ended and all bytes are sent; after any other end `wasCut` is true.
 */
export class TunnelChannel extends Duplex implements OpenChannel {
  private readonly arrived = new ByteQueue();
  private idle: NodeJS.Timeout;
  private isWanted = false;
  /** Set during a pause, which the credential's byte rate demands. */
  private throttle: NodeJS.Timeout | undefined;
  private unsent: Buffer | undefined;
  private sent: (() => void) | undefined;
  private unsentLength = 0;
  /** Bytes that are sent, but that the stream still counts while the credential's byte rate makes it wait. */
  private pausedLength = 0;
  private isWaiting = false;
  private heardEof = false;
  /** The client neither sends nor takes any more bytes. */
  isClosedByClient = false;
  wasCut = false;
  /** Bytes so far. */
  readonly carried = { in: 0, out: 0 };
  /** The socket at the other end. Its unsent bytes count as bytes of this channel. */
  peer: Socket | undefined;

  constructor(
    private readonly link: ChannelLink,
    private readonly transport: Transport,
    private readonly meter: Meter,
    private readonly maxSilence: MaxSilence,
  ) {
    super({ allowHalfOpen: true, highWaterMark: HIGH_WATER_MARK });
    this.idle = this.cutAfter(maxSilence.idleMs);
    this.once('end', () => this.ifClosed());
    // `carry` listens to `close` of the channel. Without this listener an error would end the process.
    this.on('error', () => undefined);
  }

  /** The bytes that this channel holds in memory, with the unsent bytes of its peer. */
  get bufferedBytes(): number {
    return this.arrived.length + this.readableLength + this.writableLength + (this.peer?.writableLength ?? 0);
  }

  /** Ends the channel at once, so that the programs at both ends see an error. */
  cut(reason: string): void {
    this.destroy(new Error(reason));
  }

  /** The visitor sends nothing more. It may still wait for an answer. */
  visitorEnds(): void {
    if (this.destroyed || this.isClosedByClient) return;
    const { idleMs, halfClosedMs } = this.maxSilence;
    this.cutUnlessHeard(Math.min(idleMs, halfClosedMs));
    this.emit('visitorEnd');
  }

  receive(data: Buffer): void {
    this.link.take(data.length);
    // The channel is closed here, so nobody needs the data that was under way.
    if (this.destroyed) return;
    this.idle.refresh();
    this.arrived.append(data);
    this.deliver();
  }

  receiveEnd(): void {
    this.link.ended();
    this.heardEof = true;
    this.deliver();
  }

  receiveWindow(): void {
    this.sendUnsent();
  }

  receiveClose(gone: () => void): void {
    this.whenGone(gone);
    this.closeFromThere();
  }

  lose(gone: () => void): void {
    this.whenGone(gone);
    if (this.heardEof && this.writableFinished) this.closeFromThere();
    else this.cut('the connection of the client is gone');
  }

  receiveRequest(): boolean {
    return false;
  }

  private readonly sendPart = (): void => this.transport.attempt(() => this.sendUnsent());

  override _read(): void {
    this.isWanted = true;
    // The visitor has taken bytes.
    this.idle.refresh();
    this.deliver();
  }

  override _write(data: Buffer, _: BufferEncoding, callback: () => void): void {
    this.idle.refresh();
    this.unsent = data;
    this.unsentLength = data.length;
    this.sent = callback;
    this.transport.later(this.sendPart);
  }

  override _final(callback: () => void): void {
    this.link.eof();
    callback();
  }

  override _destroy(error: Error | null, callback: (error: Error | null) => void): void {
    clearTimeout(this.idle);
    clearTimeout(this.throttle);
    this.wasCut = error !== null || !this.readableEnded || (!this.writableFinished && !this.isClosedByClient);
    this.arrived.clear();
    this.unsent = undefined;
    this.link.close();
    callback(error);
  }

  private count(direction: 'in' | 'out', bytes: number): number {
    this.carried[direction] += bytes;
    return this.meter.count(direction, bytes);
  }

  private whenGone(gone: () => void): void {
    if (this.closed) gone();
    else this.once('close', gone);
  }

  /** The client has closed the channel. What it sent before is still delivered. */
  private closeFromThere(): void {
    this.isClosedByClient = this.heardEof = true;
    this.link.close();
    if (this.destroyed) return;
    this.cutUnlessHeard(MAX_UNREAD_MS);
    this.deliver();
    if (this.readableEnded) this.ifClosed();
  }

  /** Cuts the channel if bytes for the client are unsent, which cannot reach it any more. Returns whether it did. */
  private cutIfUnsent(): boolean {
    const hasUnsent = this.writableLength > this.pausedLength;
    if (hasUnsent) this.cut('the client closed the connection before it had all bytes');
    return hasUnsent;
  }

  /** A pause of the gateway itself is no silence. */
  private cutAfter(ms: number): NodeJS.Timeout {
    const isPaused = () => this.throttle !== undefined || this.pausedLength > 0;
    return setTimeout(() => (isPaused() ? this.idle.refresh() : this.cut(`no byte for ${ms} ms`)), ms).unref();
  }

  private cutUnlessHeard(ms: number): void {
    clearTimeout(this.idle);
    this.idle = this.cutAfter(ms);
  }

  private endReading(): void {
    if (!this.isClosedByClient || !this.cutIfUnsent()) this.push(null);
  }

  private ifClosed(): void {
    if (!this.isClosedByClient || this.destroyed) return;
    if (!this.cutIfUnsent()) this.destroy();
  }

  private deliver(): void {
    while (this.isWanted && this.throttle === undefined && !this.destroyed) {
      const data = this.arrived.shift();
      if (data === undefined) break;
      const pauseMs = this.count('out', data.length);
      if (pauseMs > 0) this.pauseFor(pauseMs);
      this.isWanted = this.push(data);
    }
    if (this.destroyed) return;
    if (this.heardEof && this.arrived.length === 0 && !this.readableEnded) this.endReading();
    else this.link.giveBack(this.arrived.length + this.readableLength);
  }

  private pauseFor(ms: number): void {
    this.throttle = setTimeout(() => {
      this.throttle = undefined;
      this.idle.refresh();
      this.transport.attempt(() => this.deliver());
    }, ms);
  }

  private sendUnsent(): void {
    if (this.unsent === undefined || this.destroyed || this.isClosedByClient) return;
    const count = this.link.send(this.unsent);
    if (count > 0) this.idle.refresh();
    const pauseMs = count > 0 ? this.count('in', count) : 0;
    if (count < this.unsent.length) {
      this.unsent = this.unsent.subarray(count);
      // If the window is full, the client's next window adjustment continues.
      if (this.link.hasRoom) this.sendLater();
      return;
    }
    const callback = this.sent;
    this.unsent = this.sent = undefined;
    this.pausedLength = pauseMs === 0 ? 0 : this.unsentLength;
    if (pauseMs === 0) callback?.();
    else setTimeout(() => this.resumeWriting(callback), pauseMs);
  }

  private resumeWriting(callback: (() => void) | undefined): void {
    this.pausedLength = 0;
    callback?.();
  }

  private sendLater(): void {
    if (this.isWaiting) return;
    this.isWaiting = true;
    this.transport.whenWritable(() => {
      this.isWaiting = false;
      this.transport.later(this.sendPart);
    });
  }
}
