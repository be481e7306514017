import { isIPv6 } from 'node:net';
import {
  type IdentifiedKey,
  type OpenSession,
  OpenSessions,
  SessionReporter,
  type SessionTunnel,
  type Stop,
} from '../../gateway/index.js';
import { IdSource } from '../../kernel/ids.js';
import type { GatewayService } from './gateway-service.js';
import { ListeningPorts } from './listening-ports.js';
import { type LogRecord, SSHD } from './log-lines.js';
import { endSshd, findWriter, isRunning, type SshdProcess } from './processes.js';
import { childOf, SessionActivity, type SshdBind } from './session-activity.js';
import type { Session } from './sessions.js';

const LOOK_EVERY_MS = 500;

/** A session, and what the service is told of it. */
class Reported {
  readonly activity = new SessionActivity();
  /** Undefined until the log has told of the login. */
  session: Session | undefined;
  /** The process that serves the client. */
  child: number | undefined;
  /** Undefined until the service has said whose key it is. */
  open: OpenSession | undefined;
  /** The service does not know whose key it is. */
  isLeftOut = false;
  wasGone = false;
  /** Why the reaper ended it. */
  endReason: string | undefined;
  private credentialId = '';
  private readonly tunnels = new Map<SshdBind, SessionTunnel>();

  constructor(readonly process: SshdProcess) {}

  opened(open: OpenSession, credentialId: string): void {
    [this.open, this.credentialId] = [open, credentialId];
  }

  /** Tells of new binds, and of those at which sshd no longer listens. */
  tellTunnels(listens: (bind: SshdBind) => boolean): void {
    const { open, activity } = this;
    if (open === undefined) return;
    for (const [bind, tunnel] of this.tunnels) {
      if (activity.binds.includes(bind) && listens(bind)) continue;
      tunnel.ended('cancelled');
      this.tunnels.delete(bind);
      activity.forget(bind);
    }
    for (const bind of activity.binds) {
      if (this.tunnels.has(bind)) continue;
      const facts = { credential_id: this.credentialId, targets: targetsOf(bind) };
      this.tunnels.set(bind, open.open(facts, ageOf(bind.since)));
    }
  }

  ended(): void {
    this.tellTunnels(() => true);
    this.open?.ended(this.endReason ?? this.activity.endReason ?? 'ended');
  }
}

/** Reports the sessions and tunnels of sshd to the service, and ends the sessions that somebody stopped. */
export class ReportedSessions {
  private readonly ids = new IdSource();
  /** sshd does not tell what they carry. */
  private readonly sessions = new OpenSessions(this.ids, undefined, false);
  private readonly reporter: SessionReporter;
  private readonly byProcess = new Map<string, Reported>();
  private readonly byChild = new Map<number, Reported>();
  private timer: NodeJS.Timeout | undefined;
  private isIdentifying = false;

  constructor(
    private readonly service: GatewayService,
    private readonly print: (line: string) => void,
  ) {
    const log = { line: (_level: string, _fields: object, message: string) => print(message) };
    this.reporter = new SessionReporter({ service, log }, this.sessions, { id: this.ids.next('gw') });
  }

  start(): void {
    this.timer = setInterval(() => this.look(), LOOK_EVERY_MS);
  }

  /** The sessions go on without the reaper. It reports them as ended, since its next start reports them anew. */
  async stop(): Promise<void> {
    clearInterval(this.timer);
    await this.reporter.stop('reaper_stopped');
  }

  /**
   * Takes the lines of the log about what a session does after its login. Returns the session that has a further bind by
   * this line.
   */
  take(record: LogRecord): Session | undefined {
    const child = childOf(record);
    const monitor = child === undefined ? undefined : findWriter(record);
    if (child !== undefined && monitor !== undefined) {
      const reported = this.of(monitor);
      reported.child = child;
      this.byChild.set(child, reported);
      return undefined;
    }
    const reported = SSHD.includes(record.program) ? this.byChild.get(record.pid) : undefined;
    const before = reported?.activity.binds.length ?? 0;
    reported?.activity.take(record);
    return (reported?.activity.binds.length ?? 0) > before ? reported?.session : undefined;
  }

  /** The binds that the log has told of, and at which sshd may listen. */
  bindsOf(process: SshdProcess): readonly SshdBind[] {
    return this.byProcess.get(keyOf(process))?.activity.binds ?? [];
  }

  add(session: Session): void {
    this.of(session.process).session = session;
  }

  /** The reaper has ended the session. */
  endedBecause(process: SshdProcess, reason: string): void {
    this.of(process).endReason = reason;
  }

  /** The stream of changes is followed from now on. */
  followed(): void {
    this.reporter.followed();
  }

  stopped(stops: readonly Stop[]): void {
    this.reporter.stopped(stops);
  }

  private of(process: SshdProcess): Reported {
    const key = keyOf(process);
    const reported = this.byProcess.get(key) ?? new Reported(process);
    this.byProcess.set(key, reported);
    return reported;
  }

  private look(): void {
    void this.identify();
    let ports: ListeningPorts | undefined;
    const listens = ({ addresses, port }: SshdBind): boolean => {
      ports ??= new ListeningPorts();
      return addresses.some((address) => ports?.has(address, port));
    };
    for (const one of this.byProcess.values()) {
      if (isRunning(one.process)) one.tellTunnels(listens);
      // sshd says why before it ends, but the log may be a moment behind.
      else if (one.wasGone || one.activity.endReason !== undefined) this.end(one);
      else one.wasGone = true;
    }
  }

  private end(one: Reported): void {
    const isAskedAbout = one.session !== undefined && one.open === undefined && !one.isLeftOut;
    if (isAskedAbout) return;
    one.ended();
    this.byProcess.delete(keyOf(one.process));
    if (one.child !== undefined && this.byChild.get(one.child) === one) this.byChild.delete(one.child);
  }

  /** Asks whose the new sessions are. */
  private async identify(): Promise<void> {
    if (this.isIdentifying) return;
    this.isIdentifying = true;
    let leftOut = 0;
    for (const one of this.byProcess.values()) {
      const { session } = one;
      if (session === undefined || one.open !== undefined || one.isLeftOut) continue;
      const { fingerprint = '' } = session.answers[0] ?? {};
      // After a failure the next look asks again, and the reports tell that the service is away.
      const key = await this.service.identify(fingerprint).catch(() => null);
      if (key === null) continue;
      this.identified(one, session, key);
      if (one.isLeftOut) leftOut += 1;
    }
    this.isIdentifying = false;
    if (leftOut > 0) this.print(`sessions that are not reported, because their credential is gone: ${leftOut}`);
  }

  /** Of several credentials of the key it takes the oldest one. */
  private identified(one: Reported, session: Session, key: IdentifiedKey | undefined): void {
    const held = new Set(session.answers.flatMap(({ credentials }) => credentials.map((each) => each.credential_id)));
    const credential = key?.credentials.find(({ credential_id }) => held.has(credential_id));
    one.isLeftOut = credential === undefined;
    if (key === undefined || credential === undefined) return;
    const { account_id, fingerprint } = key;
    const { source, since } = session;
    const { credential_id } = credential;
    one.opened(this.sessions.open({ account_id, credential_id, fingerprint, source }, ageOf(since)), credential_id);
    if (one.open !== undefined) one.open.onStop = (stop) => this.obey(stop, one, session);
  }

  private obey({ by, restart }: Stop, one: Reported, { process, source }: Session): void {
    if (!endSshd(process)) return;
    one.endReason = restart ? 'restarted' : 'stopped';
    this.print(`ended the session of sshd ${process.pid} from ${source}: ${by} ${one.endReason} it`);
  }
}

const keyOf = ({ pid, start }: SshdProcess): string => `${pid} ${start}`;
const ageOf = (since: number): number => Math.max(0, Date.now() - since);

const targetsOf = ({ host, addresses, port }: SshdBind) =>
  (host === undefined ? addresses : [host]).map((name) => ({ address: addressOf(name, port) }));

/** The bind as in `permitlisten`; undefined for all addresses. */
export const listenOf = ({ host, port }: SshdBind): string | undefined =>
  host === undefined ? undefined : addressOf(host.toLowerCase(), port);

const addressOf = (host: string, port: number): string => `${isIPv6(host) ? `[${host}]` : host}:${port}`;
