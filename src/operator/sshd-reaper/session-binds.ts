import { type LogRecord, SSHD } from './log-lines.js';

/** A port that a client has bound. */
export interface SshdBind {
  /** The host as the client asked for it; undefined for all addresses. */
  readonly host: string | undefined;
  readonly port: number;
}

/** The monitor of a session, which runs as root, says which process serves its client. Undefined for any other line. */
export function childOf({ program, isRoot, message }: LogRecord): number | undefined {
  const [, child] = (isRoot && SSHD.includes(program) && /^User child is on pid (\d+)$/.exec(message)) || [];
  return child === undefined ? undefined : Number(child);
}

/** A line that LogVerbose of docs/sshd-gateway/sshd_config shows begins with its place in the source of sshd. */
const OF_BIND = /^(?:\w+: )?channels\.c:channel_setup_fwd_listener_tcpip\(\):\d+ \([^)]*\): (.*)$/;
const ASKED = /^type \d+ wildcard ([01]) addr (\S+)$/;
const LISTENS = /^Local forwarding listening on \S+ port (\d+)\.$/;
const ALLOCATED = /^Allocated listen port (\d+)$/;
const FAILED = /^cannot listen to port: \d+$/;

/** A client that binds random ports for months has the most. */
const MAX_BINDS = 1_000;

/** What a session has bound so far, by the log of the process that serves its client. */
export class SessionBinds {
  private readonly told = new Map<string, SshdBind>();
  /** What the next lines are about, and under which key it was added. */
  private asked: { readonly host: string | undefined; added?: string } | undefined;

  /** Empty if the log has told of none, or of too many: the session may then have bound anything. */
  get all(): readonly SshdBind[] {
    return this.told.size > MAX_BINDS ? [] : [...this.told.values()];
  }

  /** True if this line tells of a bind. */
  take(message: string): boolean {
    const [, text = ''] = OF_BIND.exec(message) ?? [];
    const [, wildcard, host] = ASKED.exec(text) ?? [];
    if (host !== undefined) this.asked = { host: hostOf(host, wildcard === '1') };
    // sshd says where it listens before it tries.
    if (FAILED.test(text)) this.told.delete(this.asked?.added ?? '');
    const port = Number((LISTENS.exec(text) ?? ALLOCATED.exec(text))?.[1] ?? 0);
    if (port === 0 || this.asked === undefined) return false;
    const key = `${this.asked.host} ${port}`;
    if (this.told.has(key) || this.told.size > MAX_BINDS) return true;
    this.asked.added = key;
    this.told.set(key, { host: this.asked.host, port });
    return true;
  }
}

/** sshd has no address for the localhost of `ssh -R 8000:...` and for all addresses. */
const hostOf = (host: string, isWildcard: boolean): string | undefined =>
  isWildcard ? undefined : host === 'NULL' ? 'localhost' : host;
