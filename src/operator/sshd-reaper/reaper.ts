import { type Followed, Follower, type Stop } from '../../gateway/index.js';
import { messageOf } from '../../kernel/error-message.js';
import type { GatewayService } from './gateway-service.js';
import { type LogRecord, readLogin } from './log-lines.js';
import { keepsRights } from './permissions.js';
import { endSshd } from './processes.js';
import { ReportedSessions } from './reported-sessions.js';
import { type Session, Sessions } from './sessions.js';

const QUESTIONS_AT_ONCE = 8;

/**
 * Why a session is reviewed. `recheck`: its credentials may have changed. `told`: the service said that they changed.
 */
type Reason = 'recheck' | 'told';

/** Ends the sessions of a stock sshd that have lost a right: see docs/sshd-gateway.md. */
export class Reaper implements Followed {
  private readonly sessions = new Sessions();
  private readonly queue = new Map<Session, Reason>();
  private readonly reported: ReportedSessions;
  private readonly follower: Follower;
  private isFollowing = false;
  private isLost = false;
  private reviewing: Promise<void> | undefined;

  constructor(
    private readonly service: GatewayService,
    private readonly print: (line: string) => void,
  ) {
    this.reported = new ReportedSessions(service, print);
    this.follower = new Follower((...stream) => service.changes(...stream), this);
  }

  /** Returns when the signal aborts. Throws if the log ends. */
  async run(log: AsyncIterable<LogRecord>, signal: AbortSignal): Promise<void> {
    void this.follower.start();
    signal.addEventListener('abort', () => void this.follower.stop(), { once: true });
    this.reported.start();
    try {
      for await (const record of log) this.take(record);
    } finally {
      await this.reported.stop();
    }
  }

  private take(record: LogRecord): void {
    this.reported.take(record);
    const login = readLogin(record);
    const session = login && this.sessions.take(login);
    if (session === undefined) return;
    this.reported.add(session);
    // The service may have told of a change after the key command's answer and before this line.
    this.review([session], 'recheck').catch((error) => this.follower.fail(error));
  }

  /** Rechecks every session, since changes were missed while there was no stream. */
  async recheck(): Promise<void> {
    this.isFollowing = true;
    await this.review(this.sessions.live(), 'recheck');
  }

  async changed(data: unknown): Promise<void> {
    const ids = new Set((data as { readonly credential_ids: readonly string[] }).credential_ids);
    const isHeld = (session: Session) => credentialsOf(session).some(({ credential_id }) => ids.has(credential_id));
    await this.review(this.sessions.live().filter(isHeld), 'told');
  }

  stopped(data: unknown): void {
    this.reported.stopped((data as { readonly sessions: readonly Stop[] }).sessions);
  }

  followed(): void {
    this.isLost = false;
    this.reported.followed();
    this.print(`following changes; live sessions: ${this.sessions.live().length}`);
  }

  /** Prints only the first failure. */
  lost(reason: unknown): void {
    if (!this.isLost) this.print(`reconnecting to the service: ${messageOf(reason)}`);
    [this.isFollowing, this.isLost] = [false, true];
  }

  /** Reviews nothing without a stream, since `recheck` will review all. Rejects if the service could not be asked. */
  private async review(sessions: readonly Session[], reason: Reason): Promise<void> {
    for (const session of sessions) if (this.queue.get(session) !== 'told') this.queue.set(session, reason);
    if (!this.isFollowing || this.queue.size === 0) return;
    this.reviewing ??= this.reviewQueue();
    await this.reviewing;
  }

  private async reviewQueue(): Promise<void> {
    try {
      while (this.queue.size > 0) {
        const batch = [...this.queue];
        this.queue.clear();
        await this.reviewBatch(batch);
      }
    } finally {
      this.queue.clear();
      this.reviewing = undefined;
    }
  }

  private async reviewBatch(batch: readonly (readonly [Session, Reason])[]): Promise<void> {
    const untold = batch.flatMap(([session, reason]) => (reason === 'told' ? [] : credentialsOf(session)));
    const changed = await this.service.recheck(untold);
    const doubtful = batch.filter(
      ([session, reason]) =>
        reason === 'told' || credentialsOf(session).some(({ credential_id }) => changed.has(credential_id)),
    );
    const byKey = new Map<string, Session[]>();
    for (const [session] of doubtful) {
      const fingerprint = session.answers[0]?.fingerprint ?? '';
      byKey.set(fingerprint, [...(byKey.get(fingerprint) ?? []), session]);
    }
    const keys = [...byKey.values()];
    const reviewNext = async (): Promise<void> => {
      for (let next = keys.pop(); next !== undefined; next = keys.pop()) await this.reviewKey(next);
    };
    await Promise.all(Array.from({ length: QUESTIONS_AT_ONCE }, reviewNext));
  }

  /** Ends the sessions of one key that have lost a right. */
  private async reviewKey(sessions: readonly Session[]): Promise<void> {
    const key = sessions[0]?.answers[0];
    if (key === undefined) return;
    const options = await this.service.optionsFor(key);
    for (const session of sessions) {
      const { process, answers, source } = session;
      if (options !== undefined && answers.every((then) => keepsRights(then.options, options, source))) continue;
      const ids = [...new Set(credentialsOf(session).map(({ credential_id }) => credential_id))].join(',');
      if (!endSshd(process)) continue;
      this.reported.endedBecause(process, 'right_lost');
      this.print(`ended the session of sshd ${process.pid} from ${source}: ${key.fingerprint} ${ids} lost a right`);
    }
  }
}

const credentialsOf = ({ answers }: Session) => answers.flatMap(({ credentials }) => credentials);
