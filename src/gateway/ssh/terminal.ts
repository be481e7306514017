import { setTimeout as sleep } from 'node:timers/promises';
import type { ServerChannel, Session } from 'ssh2';
import { takesPackets } from '../tunnels/packets.js';

const MAX_LINES = 100;
/** The client chose some of the text. */
const MAX_LINE_LENGTH = 1_000;
/** Of a session that is not read. Further lines are left out. */
const MAX_UNREAD_BYTES = 64 * 1024;
/** `ssh` without -N asks for a session right after its binds. */
const SESSION_PATIENCE_MS = 300;
/** Time in which a client prints what it got, before an answer can make it exit. */
const PRINTING_MS = 100;
const INTERRUPTS: readonly number[] = [3, 4];

/**
 * Tells the client what happens to its binds. OpenSSH shows text of a server only in a session, so `ssh -N` shows none.
 * A session is the state of the tunnel: no program runs.
 */
export class Terminal {
  private readonly lines: string[] = [];
  private readonly opened = new AbortController();
  private channel: ServerChannel | undefined;
  private lineEnd = '\n';
  private hasSession = false;

  constructor(
    /** Whether the client has asked for nothing that a session could show. */
    private readonly isUseless: () => boolean,
    private readonly endClient: () => void,
  ) {}

  /** Answers a request for a session. A client has at most one at a time. */
  open(accept: () => Session, reject: () => void): void {
    if (this.hasSession) {
      reject();
      return;
    }
    this.hasSession = true;
    const session = accept();
    session.on('pty', (acceptPty) => {
      this.lineEnd = '\r\n';
      acceptPty?.();
    });
    session.on('window-change', (acceptChange) => acceptChange?.());
    session.on('shell', (acceptShell) => this.show(acceptShell()));
    session.on('close', () => {
      this.hasSession = false;
    });
  }

  /** Shows the line now or when there is a session. */
  say(text: string): void {
    const line = text.slice(0, MAX_LINE_LENGTH);
    this.lines.push(line);
    if (this.lines.length > MAX_LINES) this.lines.shift();
    this.write(line);
  }

  /** The same, and waits until the client has had time to print it. */
  async sayFirst(line: string): Promise<void> {
    this.say(line);
    await sleep(SESSION_PATIENCE_MS, undefined, this.opened).catch(() => undefined);
    if (this.channel !== undefined) await sleep(PRINTING_MS);
  }

  private show(channel: ServerChannel): void {
    if (!takesPackets(channel)) {
      this.endClient();
      return;
    }
    this.channel = channel;
    channel.on('data', (data: Buffer) => {
      if (INTERRUPTS.some((key) => data.includes(key))) this.endClient();
    });
    channel.on('error', () => undefined);
    channel.on('close', () => {
      this.channel = undefined;
    });
    if (this.isUseless())
      this.lines.push('This gateway runs no programs. It carries tunnels, as in: ssh -R team=blue:0:localhost:3000');
    for (const line of this.lines) this.write(line);
    if (this.isUseless()) this.leave(channel);
    this.opened.abort();
  }

  private leave(channel: ServerChannel): void {
    channel.exit(1);
    channel.end();
  }

  private write(line: string): void {
    if (this.channel === undefined || this.channel.stderr.writableLength > MAX_UNREAD_BYTES) return;
    // The client chose some of the text: no control sequence may reach its terminal.
    this.channel.stderr.write(`${line.replace(/\p{Cc}/gu, '?')}${this.lineEnd}`);
  }
}
