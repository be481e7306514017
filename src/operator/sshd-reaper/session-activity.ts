import { type LogRecord, SSHD } from './log-lines.js';

/** A port that a client has bound. */
export interface SshdBind {
  /** The host as the client asked for it; undefined for all addresses. */
  readonly host: string | undefined;
  /** Milliseconds since 1970. */
  readonly since: number;
  /** Where sshd listens: the addresses of the host. */
  readonly addresses: string[];
  /** 0 until the port is known, if the client asked for any. */
  port: number;
}

export type EndReason = 'client' | 'lost';

/** The monitor of a session, which runs as root, says which process serves its client. Undefined for any other line. */
export function childOf({ program, isRoot, message }: LogRecord): number | undefined {
  const [, child] = (isRoot && SSHD.includes(program) && /^User child is on pid (\d+)$/.exec(message)) || [];
  return child === undefined ? undefined : Number(child);
}

/** A line that LogVerbose of docs/sshd-gateway/sshd_config shows begins with its place in the source of sshd. */
const OF_BIND = /^(?:\w+: )?channels\.c:channel_setup_fwd_listener_tcpip\(\):\d+ \([^)]*\): (.*)$/;
const ASKED = /^type \d+ wildcard ([01]) addr (\S+)$/;
const LISTENS = /^Local forwarding listening on (\S+) port (\d+)\.$/;
const ALLOCATED = /^Allocated listen port (\d+)$/;
const FAILED = /^cannot listen to port: \d+$/;
const BY_CLIENT = /^(Received disconnect|Disconnected) from /;
const LOST = /^Connection closed by |^Timeout, client not responding from |: (Connection reset by peer|Broken pipe)$/;

/** What the process that serves a client says in the log: its binds, and why it ends. */
export class SessionActivity {
  endReason: EndReason | undefined;
  private asked: SshdBind[] = [];

  /** The binds that listen, or have done so. */
  get binds(): readonly SshdBind[] {
    return this.asked.filter(({ addresses, port }) => addresses.length > 0 && port > 0);
  }

  take({ message, at = Date.now() }: Pick<LogRecord, 'message' | 'at'>): void {
    const [, text] = OF_BIND.exec(message) ?? [];
    if (text !== undefined) this.takeBind(text, at);
    else if (BY_CLIENT.test(message)) this.endReason = 'client';
    else if (LOST.test(message)) this.endReason = 'lost';
  }

  /** A bind that has ended. */
  forget(bind: SshdBind): void {
    this.asked = this.asked.filter((other) => other !== bind);
  }

  private takeBind(text: string, at: number): void {
    const [, wildcard, host] = ASKED.exec(text) ?? [];
    if (host !== undefined) {
      // The one before failed if it has no address: its host is unknown.
      if (this.asked.at(-1)?.addresses.length === 0) this.asked.pop();
      this.asked.push({ host: hostOf(host, wildcard === '1'), since: at, addresses: [], port: 0 });
    }
    const bind = this.asked.at(-1);
    const [, address, listenPort] = LISTENS.exec(text) ?? [];
    if (address !== undefined) bind?.addresses.push(address);
    const port = Number(listenPort ?? ALLOCATED.exec(text)?.[1] ?? 0);
    if (bind !== undefined && port > 0) bind.port = port;
    if (FAILED.test(text)) this.asked.pop();
  }
}

/** sshd has no address for the localhost of `ssh -R 8000:...` and for all addresses. */
const hostOf = (host: string, isWildcard: boolean): string | undefined =>
  isWildcard ? undefined : host === 'NULL' ? 'localhost' : host;
