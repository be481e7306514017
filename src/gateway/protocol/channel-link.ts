import type { Transport } from './transport.js';
import { Violation } from './violation.js';

/** How much a client may send before the gateway gives it more. */
export const WINDOW_BYTES = 2 * 1024 * 1024;
export const MAX_PACKET_BYTES = 32 * 1024;
/** RFC 4254 has no minimum. With smaller packets, up to 60 bytes of memory would go with each byte of data. */
const MIN_PACKET_BYTES = 256;
/** RFC 4254, 5.2. */
const MAX_WINDOW_BYTES = 2 ** 32 - 1;
/** The most packets in one turn, so that other connections get theirs: a packet takes some 30 microseconds. */
const MAX_PACKETS = 16;
const STDERR = 1;

/** The client's end of a channel, as it named it. */
export interface RemoteEnd {
  readonly id: number;
  window: number;
  readonly packetSize: number;
}

/** The protocol's side of one channel: its windows, and who has sent EOF and CLOSE. */
export class ChannelLink {
  private window = WINDOW_BYTES;
  private saidEof = false;
  /** When this side closed the channel. */
  closedAt: number | undefined;
  private heardEof = false;

  constructor(
    private readonly transport: Transport,
    private readonly remote: RemoteEnd,
  ) {}

  /** Whether the client takes packets of a usable size. With size 0 the gateway would send empty packets for ever. */
  get takesPackets(): boolean {
    return this.remote.packetSize >= MIN_PACKET_BYTES;
  }

  /** Counts bytes that the client sent. Throws Violation if the client may not send so many. */
  take(bytes: number): void {
    if (this.heardEof) throw new Violation('protocol', 'sent data after the end of its data');
    if (bytes > this.window) throw new Violation('window', `sent ${bytes} bytes into a window of ${this.window}`);
    this.window -= bytes;
  }

  /**
   * Lets the client send more, once half of the window is free. `held`: bytes that were received and are not taken yet.
   */
  giveBack(held: number): void {
    const free = WINDOW_BYTES - this.window - held;
    if (free < WINDOW_BYTES / 2 || this.heardEof || this.saidClose) return;
    this.window += free;
    this.transport.send((protocol) => protocol.channelWindowAdjust(this.remote.id, free));
  }

  /** The client lets the gateway send so many bytes more. Throws Violation above the maximum of RFC 4254. */
  adjusted(bytes: number): void {
    this.remote.window += bytes;
    if (this.remote.window > MAX_WINDOW_BYTES) throw new Violation('window', 'gave a window of more than 4 GiB');
  }

  ended(): void {
    if (this.heardEof) throw new Violation('protocol', 'ended its data twice');
    this.heardEof = true;
  }

  /** Sends as many of these bytes as the client and the connection take now. Returns their number. */
  send(data: Buffer, isStderr = false): number {
    const { id } = this.remote;
    let sent = 0;
    for (let packets = 0; packets < MAX_PACKETS && sent < data.length && this.takesData; packets += 1) {
      const part = data.subarray(sent, sent + Math.min(this.remote.window, this.remote.packetSize, MAX_PACKET_BYTES));
      this.remote.window -= part.length;
      sent += part.length;
      this.transport.send((protocol) =>
        isStderr ? protocol.channelExtData(id, part, STDERR) : protocol.channelData(id, part),
      );
    }
    return sent;
  }

  private get takesData(): boolean {
    return this.remote.window > 0 && !this.saidClose && this.transport.isWritable;
  }

  private get saidClose(): boolean {
    return this.closedAt !== undefined;
  }

  get hasRoom(): boolean {
    return this.remote.window > 0;
  }

  eof(): void {
    if (this.saidEof || this.saidClose) return;
    this.saidEof = true;
    this.transport.send((protocol) => protocol.channelEOF(this.remote.id));
  }

  close(): void {
    if (this.saidClose) return;
    this.closedAt = performance.now();
    this.transport.send((protocol) => protocol.channelClose(this.remote.id));
  }

  /** Answers a request about this channel. */
  answer(isGranted: boolean): void {
    if (this.saidClose) return;
    const { id } = this.remote;
    this.transport.send((protocol) => (isGranted ? protocol.channelSuccess(id) : protocol.channelFailure(id)));
  }

  exit(status: number): void {
    if (!this.saidClose) this.transport.send((protocol) => protocol.exitStatus(this.remote.id, status));
  }
}
