import { setMaxListeners } from 'node:events';
import { setTimeout as sleep } from 'node:timers/promises';
import type { ChannelLink } from '../protocol/channel-link.js';
import type { OpenChannel } from '../protocol/channels.js';
import type { Transport } from '../protocol/transport.js';
import { Session } from './session.js';

const MAX_LINES = 100;
/** The client chose some of the text. */
const MAX_LINE_LENGTH = 1_000;
/** `ssh` without -N asks for a session right after its binds. */
const SESSION_PATIENCE_MS = 300;
/** Time in which a client prints what it got, before an answer can make it exit. */
const PRINTING_MS = 100;
const USELESS = 'This gateway runs no programs. It carries tunnels, as in: ssh -R team=blue:0:localhost:3000';

/**
 * Tells the client what happens to its binds. OpenSSH shows text of a server only in a session, so `ssh -N` shows none.
 * A session is the state of the tunnel: no program runs.
 */
export class Terminal {
  private readonly lines: string[] = [];
  private readonly opened = new AbortController();
  private session: Session | undefined;

  constructor(
    /** Whether the client has asked for nothing that a session could show. */
    private readonly isUseless: () => boolean,
    private readonly endClient: () => void,
  ) {
    // As many as the client has refused binds at a time.
    setMaxListeners(0, this.opened.signal);
  }

  /** The session that the client asks for; undefined if it has one. */
  open(link: ChannelLink, transport: Transport): OpenChannel | undefined {
    if (this.session !== undefined) return undefined;
    const session: Session = new Session(link, transport, {
      shown: () => this.show(session),
      interrupted: () => this.endClient(),
      closed: () => {
        this.session = undefined;
      },
    });
    this.session = session;
    return session;
  }

  /** Shows the line now or when there is a session. */
  say(text: string): void {
    const line = text.slice(0, MAX_LINE_LENGTH);
    this.lines.push(line);
    if (this.lines.length > MAX_LINES) this.lines.shift();
    this.session?.write(line);
  }

  /** Says that something is over. A later session does not show its begin any more. */
  sayEnd(begin: string, end: string): void {
    const at = this.lines.indexOf(begin.slice(0, MAX_LINE_LENGTH));
    if (at >= 0) this.lines.splice(at, 1);
    this.say(end);
  }

  /** Like say, and waits until the client has had time to print it. */
  async sayFirst(line: string): Promise<void> {
    this.say(line);
    await sleep(SESSION_PATIENCE_MS, undefined, this.opened).catch(() => undefined);
    if (this.session?.isShown === true) await sleep(PRINTING_MS);
  }

  private show(session: Session): void {
    for (const line of this.lines) session.write(line);
    if (this.isUseless()) {
      session.write(USELESS);
      session.exit(1);
    }
    this.opened.abort();
  }
}
