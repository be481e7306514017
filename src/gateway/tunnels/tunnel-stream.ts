import { Duplex } from 'node:stream';
import type { ServerChannel } from 'ssh2';
import type { Carrier } from './carrier.js';

export interface Meter {
  /** Counts bytes, and says how long to wait after them, in milliseconds. */
  count(direction: 'in' | 'out', bytes: number): number;
}

const HIGH_WATER_MARK = 64 * 1024;

/**
 * A channel as Node's streams are used to be. The library's own ends both sides when one ends, forgets the callbacks of a
 * channel that was closed, and knows no limit for what the connection has not sent.
 */
export class TunnelStream extends Duplex {
  private readonly idle: NodeJS.Timeout;
  private unwritten: (() => void) | undefined;
  private throttle: NodeJS.Timeout | undefined;
  private isClosed = false;

  constructor(
    private readonly channel: ServerChannel,
    private readonly carrier: Carrier,
    private readonly meter: Meter,
    idleMs: number,
  ) {
    super({ allowHalfOpen: true, highWaterMark: HIGH_WATER_MARK });
    this.idle = setTimeout(() => this.destroy(), idleMs).unref();
    channel.on('data', (data: Buffer) => this.received(data));
    channel.on('end', () => this.push(null));
    channel.on('error', () => this.destroy());
    channel.on('close', () => this.channelClosed());
  }

  override _read(): void {
    if (this.throttle === undefined) this.channel.resume();
  }

  override _write(data: Buffer, _: BufferEncoding, callback: () => void): void {
    if (this.isClosed) {
      callback();
      return;
    }
    this.idle.refresh();
    this.unwritten = callback;
    const pauseMs = this.meter.count('in', data.length);
    this.channel.write(data, () => this.carrier.whenWritable(() => after(pauseMs, () => this.written())));
  }

  /** The other side may still send: an end of the channel itself would close it. */
  override _final(callback: () => void): void {
    if (!this.isClosed) this.channel.eof();
    callback();
  }

  override _destroy(error: Error | null, callback: (error: Error | null) => void): void {
    clearTimeout(this.idle);
    clearTimeout(this.throttle);
    this.channel.close();
    // Else the library would wait for a reader of what was received.
    this.channel.resume();
    callback(error);
  }

  private received(data: Buffer): void {
    if (this.destroyed) return;
    this.idle.refresh();
    const pauseMs = this.meter.count('out', data.length);
    const hasRoom = this.push(data);
    if (!hasRoom || pauseMs > 0) this.channel.pause();
    if (pauseMs > 0) this.pauseFor(pauseMs, hasRoom);
  }

  private pauseFor(pauseMs: number, hadRoom: boolean): void {
    this.throttle = setTimeout(() => {
      this.throttle = undefined;
      // Without room the next read continues.
      if (hadRoom || this.readableLength < HIGH_WATER_MARK) this.channel.resume();
    }, pauseMs);
  }

  private written(): void {
    const callback = this.unwritten;
    this.unwritten = undefined;
    callback?.();
  }

  /** What the client sent before is still delivered; what it is sent from now on has no reader. */
  private channelClosed(): void {
    this.isClosed = true;
    if (this.destroyed) return;
    this.push(null);
    this.written();
    this.end();
  }
}

function after(ms: number, callback: () => void): void {
  if (ms === 0) callback();
  else setTimeout(callback, ms);
}
