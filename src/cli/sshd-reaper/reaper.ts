import { setTimeout as sleep } from 'node:timers/promises';
import { messageOf } from '../../error-message.js';
import type { GatewayService } from './gateway-service.js';
import { type LogRecord, readLogin } from './log-lines.js';
import { keepsRights } from './permissions.js';
import { endSshd } from './processes.js';
import { type Session, Sessions } from './sessions.js';

const FIRST_PAUSE_MS = 100;
const MAX_PAUSE_MS = 1_000;
const QUESTIONS_AT_ONCE = 8;

/** Why a session is looked at: its credentials must be rechecked first, or the service told that they changed. */
type Reason = 'recheck' | 'told';

/** Ends the sessions of stock sshd that lost a right: see docs/sshd-gateway.md. */
export class Reaper {
  private readonly sessions = new Sessions();
  private readonly queue = new Map<Session, Reason>();
  private connection = new AbortController();
  private isFollowing = false;
  private isReviewing = false;
  private pauseMs = FIRST_PAUSE_MS;

  constructor(
    private readonly service: GatewayService,
    private readonly print: (line: string) => void,
  ) {}

  /** Returns when the signal aborts. Throws if the log ends. */
  async run(log: AsyncIterable<LogRecord>, signal: AbortSignal): Promise<void> {
    void this.keepFollowing(signal);
    for await (const record of log) {
      const login = readLogin(record);
      const session = login && this.sessions.take(login);
      // A change between the key command's answer and this line was told before the session was known.
      if (session !== undefined) this.review([session], 'recheck');
    }
  }

  private async keepFollowing(signal: AbortSignal): Promise<void> {
    while (!signal.aborted) {
      this.connection = new AbortController();
      const reason = await this.service
        .follow(this, AbortSignal.any([signal, this.connection.signal]))
        .then(() => 'the stream ended', messageOf);
      if (signal.aborted) return;
      if (this.isFollowing || this.pauseMs === FIRST_PAUSE_MS)
        this.print(`reconnecting to the service: ${this.connection.signal.reason ?? reason}`);
      this.isFollowing = false;
      await sleep(this.pauseMs, undefined, { signal }).catch(() => undefined);
      this.pauseMs = Math.min(2 * this.pauseMs, MAX_PAUSE_MS);
    }
  }

  /** What changed while there was no stream is found by a recheck of every session. */
  ready(): void {
    this.isFollowing = true;
    this.pauseMs = FIRST_PAUSE_MS;
    const live = this.sessions.live();
    this.print(`following changes; live sessions: ${live.length}`);
    this.review(live, 'recheck');
  }

  changed(ids: ReadonlySet<string>): void {
    const isHeld = (session: Session) => credentialsOf(session).some(({ credential_id }) => ids.has(credential_id));
    this.review(this.sessions.live().filter(isHeld), 'told');
  }

  /** Without a stream nothing is reviewed: `ready` will review all. */
  private review(sessions: readonly Session[], reason: Reason): void {
    for (const session of sessions) if (this.queue.get(session) !== 'told') this.queue.set(session, reason);
    if (!this.isReviewing && this.isFollowing) void this.reviewQueue();
  }

  private async reviewQueue(): Promise<void> {
    this.isReviewing = true;
    try {
      while (this.queue.size > 0) {
        const batch = [...this.queue];
        this.queue.clear();
        await this.reviewBatch(batch);
      }
    } catch (error) {
      this.queue.clear();
      this.isFollowing = false;
      this.connection.abort(messageOf(error));
    } finally {
      this.isReviewing = false;
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

  /** All sessions of one key. */
  private async reviewKey(sessions: readonly Session[]): Promise<void> {
    const key = sessions[0]?.answers[0];
    if (key === undefined) return;
    const options = await this.service.optionsFor(key);
    for (const session of sessions) {
      const { process, answers, source } = session;
      if (options !== undefined && answers.every((then) => keepsRights(then.options, options, source))) continue;
      const ids = [...new Set(credentialsOf(session).map(({ credential_id }) => credential_id))].join(',');
      if (endSshd(process))
        this.print(`ended the session of sshd ${process.pid} from ${source}: ${key.fingerprint} ${ids} lost a right`);
    }
  }
}

const credentialsOf = ({ answers }: Session) => answers.flatMap(({ credentials }) => credentials);
