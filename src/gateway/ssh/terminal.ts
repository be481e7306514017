import { setMaxListeners } from 'node:events';
import { setTimeout as sleep } from 'node:timers/promises';
import type { ChannelLink } from '../protocol/channel-link.js';
import type { OpenChannel } from '../protocol/channels.js';
import type { Transport } from '../protocol/transport.js';
import { Session } from './session.js';

const MAX_LINES = 100;
/** A line may hold text that the client chose. */
const MAX_LINE_LENGTH = 1_000;
/** How long a refusal waits for a session: `ssh` without -N asks for one right after its binds. */
const SESSION_PATIENCE_MS = 300;
/** How long a client has to print a line, before the answer can make it exit. */
const PRINTING_MS = 100;
const NO_BIND_HINT = 'This gateway runs no programs. It carries tunnels, as in: ssh -R team=blue:0:localhost:3000';

/**
 * Tells the client what happens to its binds. OpenSSH shows text of a server only in a session, so `ssh -N` shows none.
 * A session shows the binds, and runs no program.
 */
export class Terminal {
  private readonly lines: string[] = [];
  private readonly opened = new AbortController();
  private session: Session | undefined;

  constructor(
    /** Whether the client has no bind that a session could show. */
    private readonly hasNoBind: () => boolean,
    private readonly endClient: () => void,
  ) {
    // Each refused bind adds a listener, so there is no limit that Node could warn about.
    setMaxListeners(0, this.opened.signal);
  }

  /** Opens the session that the client asks for; undefined if it has one already. */
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

  /** Shows the line now, and in each later session. */
  say(text: string): void {
    const line = text.slice(0, MAX_LINE_LENGTH);
    this.lines.push(line);
    if (this.lines.length > MAX_LINES) this.lines.shift();
    this.session?.write(line);
  }

  /** Shows that a bind ended. A later session no longer shows the line `begin`. */
  sayEnd(begin: string, end: string): void {
    const at = this.lines.indexOf(begin.slice(0, MAX_LINE_LENGTH));
    if (at >= 0) this.lines.splice(at, 1);
    this.say(end);
  }

  /** Shows the line, and waits until the client has had time to print it. */
  async sayAndWait(line: string): Promise<void> {
    this.say(line);
    await sleep(SESSION_PATIENCE_MS, undefined, this.opened).catch(() => undefined);
    if (this.session?.isShown === true) await sleep(PRINTING_MS);
  }

  private show(session: Session): void {
    for (const line of this.lines) session.write(line);
    if (this.hasNoBind()) {
      session.write(NO_BIND_HINT);
      session.exit(1);
    }
    this.opened.abort();
  }
}
