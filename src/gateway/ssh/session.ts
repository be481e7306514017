import type { ChannelLink } from '../protocol/channel-link.js';
import type { OpenChannel } from '../protocol/channels.js';
import type { Transport } from '../protocol/transport.js';

/** Bytes that wait for a client which does not read its session. Further lines are left out. */
const MAX_UNREAD_BYTES = 64 * 1024;
/** Ctrl-C and Ctrl-D. */
const INTERRUPTS: readonly number[] = [3, 4];

/** Who comes from another tunnel service types them. They ask for what a session shows anyway. */
const SHELLS: readonly string[] = ['http', 'https', 'tcp', 'tls'];
const TLS_REFUSED = 'refused: this gateway does not pass TLS on by name; bind the domain for HTTP, or a port for TCP';

interface Listener {
  /** The client asked for a shell, so it shows what is written from now on. */
  shown(): void;
  /** The client pressed Ctrl-C or Ctrl-D. */
  interrupted(): void;
  closed(): void;
}

/** The session of a client. It shows lines, and reads only Ctrl-C and Ctrl-D. */
export class Session implements OpenChannel {
  private unread = Buffer.alloc(0);
  private lineEnd = '\n';
  private exitStatus: number | undefined;
  private isOpen = true;
  private isWaiting = false;
  private hasShell = false;
  /** The client shows what is written. */
  isShown = false;

  constructor(
    private readonly link: ChannelLink,
    private readonly transport: Transport,
    private readonly listener: Listener,
  ) {}

  get bufferedBytes(): number {
    return this.unread.length;
  }

  receiveRequest(type: string, data?: unknown): boolean {
    if (type === 'pty-req') this.lineEnd = '\r\n';
    const isShell = type === 'shell' || (type === 'exec' && typeof data === 'string' && SHELLS.includes(data));
    if (isShell && !this.hasShell) {
      this.hasShell = true;
      const refusal = type === 'exec' && data === 'tls' ? TLS_REFUSED : undefined;
      // The answer to the request goes first.
      setImmediate(() => this.transport.attempt(() => this.isOpen && this.show(refusal)));
      return true;
    }
    return type === 'pty-req' || type === 'window-change';
  }

  /** The line may hold text that the client chose, so control characters are replaced. */
  write(line: string): void {
    if (!this.isShown || !this.isOpen || this.unread.length > MAX_UNREAD_BYTES) return;
    this.unread = Buffer.concat([this.unread, Buffer.from(`${line.replace(/\p{Cc}/gu, '?')}${this.lineEnd}`)]);
    this.send();
  }

  /** A line of before is written by the listener, and a line of afterwards by whoever says it: none twice. */
  private show(refusal: string | undefined): void {
    this.isShown = true;
    this.listener.shown();
    if (refusal === undefined) return;
    this.write(refusal);
    this.exit(1);
  }

  /** Ends the session once all lines are sent. */
  exit(status: number): void {
    this.exitStatus = status;
    this.send();
  }

  receive(data: Buffer): void {
    this.link.take(data.length);
    this.link.giveBack(0);
    if (this.isOpen && INTERRUPTS.some((key) => data.includes(key))) this.listener.interrupted();
  }

  receiveEnd(): void {
    this.link.ended();
  }

  receiveWindow(): void {
    this.send();
  }

  receiveClose(gone: () => void): void {
    this.isOpen = false;
    this.unread = Buffer.alloc(0);
    this.listener.closed();
    gone();
  }

  lose(gone: () => void): void {
    this.receiveClose(gone);
  }

  /** It holds nothing once it is closed. */
  cut(): void {
    this.isOpen = false;
    this.link.close();
  }

  private send(): void {
    if (!this.isOpen) return;
    if (this.unread.length > 0) this.unread = this.unread.subarray(this.link.send(this.unread, true));
    if (this.unread.length > 0 && this.link.hasRoom) this.sendLater();
    if (this.unread.length > 0 || this.exitStatus === undefined) return;
    this.isOpen = false;
    this.link.exit(this.exitStatus);
    this.link.eof();
    this.link.close();
  }

  private sendLater(): void {
    if (this.isWaiting) return;
    this.isWaiting = true;
    // In a later turn of the event loop: a client can take its lines in very small parts.
    setImmediate(() =>
      this.transport.whenWritable(() => {
        this.isWaiting = false;
        this.send();
      }),
    );
  }
}
