import { isIPv6 } from 'node:net';
import { type Followed, Follower } from '../../gateway/index.js';
import { messageOf } from '../../kernel/error-message.js';
import { PacedTask } from '../../kernel/paced-task.js';
import { OverlappingNames } from '../../rules/index.js';
import type { GatewayService } from './gateway-service.js';
import { type LogRecord, readLogin } from './log-lines.js';
import { keepsRights, mayBind, mayPermit } from './permissions.js';
import { endSshd, type SshdProcess } from './processes.js';
import type { SshdBind } from './session-binds.js';
import { type Session, Sessions } from './sessions.js';

const QUESTIONS_AT_ONCE = 8;

/**
 * Why a session is reviewed, in the order of weight. `recheck`: its credentials may have changed. `reserved`: so may
 * reservations, and `told`: the service said that its credentials changed.
 */
const REASONS = ['recheck', 'reserved', 'told'] as const;
type Reason = (typeof REASONS)[number];

interface Review {
  readonly session: Session;
  readonly reason: Reason;
}

/** Ends the sessions of a stock sshd that have lost a right: see docs/sshd-gateway.md. */
export class Reaper implements Followed {
  private readonly sessions = new Sessions();
  private readonly queue = new Map<SshdProcess, Review>();
  /** Sessions of which others have reserved something that they may not use yet. A further bind of theirs is reviewed. */
  private readonly doubtful = new WeakSet<SshdProcess>();
  private readonly follower: Follower;
  private isFollowing = false;
  private isLost = false;
  /** The reservations up to which all sessions were reviewed. */
  private reservations: string | undefined;
  private reviewing: Promise<void> | undefined;
  private readonly reviewOfAll = new PacedTask(() => this.reviewAll());

  constructor(
    private readonly service: GatewayService,
    private readonly print: (line: string) => void,
  ) {
    this.follower = new Follower((...stream) => service.changes(...stream), this);
  }

  /** Returns when the signal aborts. Throws if the log ends. */
  async run(log: AsyncIterable<LogRecord>, signal: AbortSignal): Promise<void> {
    void this.follower.start();
    signal.addEventListener('abort', () => void this.follower.stop(), { once: true });
    for await (const record of log) this.take(record);
  }

  private take(record: LogRecord): void {
    const bound = this.sessions.takeBind(record);
    if (bound !== undefined && this.doubtful.has(bound.process))
      this.reviewSoon({ session: bound, reason: 'reserved' });
    const login = readLogin(record);
    const session = login && this.sessions.take(login);
    if (session === undefined) return;
    // The service may have told of a change after the key command's answer and before this line.
    this.reviewSoon(this.forReservations(session));
  }

  /** Rechecks every session, since changes were missed while there was no stream. */
  async recheck(): Promise<void> {
    this.isFollowing = true;
    const { reservations, reservationsChanged } = await this.service.reservationsSince(this.reservations);
    const reviewOf = (session: Session): Review =>
      reservationsChanged ? this.forReservations(session) : { session, reason: 'recheck' };
    await this.review(this.sessions.live().map(reviewOf));
    this.reservations = reservations;
  }

  async changed(data: unknown): Promise<void> {
    const ids = new Set((data as { readonly credential_ids: readonly string[] }).credential_ids);
    const isHeld = (session: Session) => credentialsOf(session).some(({ credential_id }) => ids.has(credential_id));
    const held = this.sessions.live().filter(isHeld);
    await this.review(held.map((session) => ({ session, reason: 'told' })));
  }

  /**
   * A reservation makes the lines of many keys narrower, since sshd knows no rule with an exception. So a session of which
   * the log tells that it listens at other ports only keeps what it has, but gets nothing more.
   */
  async reserved(data: unknown): Promise<void> {
    const event = data as { readonly names: readonly string[]; readonly of_others?: boolean };
    if (event.of_others === true) return this.reviewOfAll.request();
    const names = new OverlappingNames(event.names);
    const concerned = this.sessions
      .live()
      .filter(({ answers }) => answers.some(({ options }) => mayPermit(options, names)));
    for (const { process } of concerned) this.doubtful.add(process);
    const holders = concerned.filter(({ binds }) => mayListenAt(binds.all, names));
    await this.review(holders.map((session) => ({ session, reason: 'reserved' })));
  }

  /** Others have reserved something whose names this gateway may not know. */
  private async reviewAll(): Promise<void> {
    const sessions = this.sessions.live();
    for (const { process } of sessions) this.doubtful.add(process);
    await this.review(sessions.map((session) => ({ session, reason: 'reserved' })));
  }

  followed(): void {
    this.isLost = false;
    this.print(`following changes; live sessions: ${this.sessions.live().length}`);
  }

  /** Prints only the first failure. */
  lost(reason: unknown): void {
    if (!this.isLost) this.print(`reconnecting to the service: ${messageOf(reason)}`);
    [this.isFollowing, this.isLost] = [false, true];
  }

  /**
   * Reservations may have changed, and only the lines and the binds of a session show whether they concern it. If neither
   * is known, each bind is decided when the log tells of it.
   */
  private forReservations(session: Session): Review {
    const { process, answers, source, binds } = session;
    const areLinesKnown = answers.every(({ options }) => keepsRights(options, options ?? [], source));
    if (areLinesKnown || binds.all.length > 0) return { session, reason: 'reserved' };
    this.doubtful.add(process);
    return { session, reason: 'recheck' };
  }

  /** If the service cannot be asked, the next recheck reviews all sessions by their lines. */
  private reviewSoon(review: Review): void {
    if (!this.isFollowing) this.reservations = undefined;
    this.review([review]).catch((error) => {
      this.reservations = undefined;
      this.follower.fail(error);
    });
  }

  /** Reviews nothing without a stream, since `recheck` will review all. Rejects if the service could not be asked. */
  private async review(reviews: readonly Review[]): Promise<void> {
    for (const review of reviews) this.queue.set(review.session.process, this.weightier(review));
    if (!this.isFollowing || this.queue.size === 0) return;
    this.reviewing ??= this.reviewQueue();
    await this.reviewing;
  }

  /** With the session as it is known now. */
  private weightier({ session, reason }: Review): Review {
    const queued = this.queue.get(session.process)?.reason ?? reason;
    return { session, reason: REASONS.indexOf(queued) > REASONS.indexOf(reason) ? queued : reason };
  }

  private async reviewQueue(): Promise<void> {
    try {
      while (this.queue.size > 0) {
        const batch = [...this.queue.values()];
        this.queue.clear();
        await this.reviewBatch(batch);
      }
    } finally {
      this.queue.clear();
      this.reviewing = undefined;
    }
  }

  private async reviewBatch(batch: readonly Review[]): Promise<void> {
    const untold = batch.flatMap(({ session, reason }) => (reason === 'told' ? [] : credentialsOf(session)));
    const changed = await this.service.recheck(untold);
    const byKey = new Map<string, Review[]>();
    for (const { session, reason } of batch) {
      const isChanged = credentialsOf(session).some(({ credential_id }) => changed.has(credential_id));
      if (reason === 'recheck' && !isChanged) continue;
      const fingerprint = session.answers[0]?.fingerprint ?? '';
      const review: Review = { session, reason: isChanged ? 'told' : reason };
      byKey.set(fingerprint, [...(byKey.get(fingerprint) ?? []), review]);
    }
    const keys = [...byKey.values()];
    const reviewNext = async (): Promise<void> => {
      for (let next = keys.pop(); next !== undefined; next = keys.pop()) await this.reviewKey(next);
    };
    await Promise.all(Array.from({ length: QUESTIONS_AT_ONCE }, reviewNext));
  }

  /** Ends the sessions of one key that have lost a right. */
  private async reviewKey(reviews: readonly Review[]): Promise<void> {
    const key = reviews[0]?.session.answers[0];
    if (key === undefined) return;
    const options = await this.service.optionsFor(key);
    for (const { session, reason } of reviews) {
      const { process, source } = session;
      if (options !== undefined && this.keeps(session, reason, options)) continue;
      const ids = [...new Set(credentialsOf(session).map(({ credential_id }) => credential_id))].join(',');
      if (!endSshd(process)) continue;
      this.print(`ended the session of sshd ${process.pid} from ${source}: ${key.fingerprint} ${ids} lost a right`);
    }
  }

  /** After a reservation it is enough that the key may still bind all that the session has: its lines are narrower now. */
  private keeps({ process, answers, source, binds }: Session, reason: Reason, now: readonly string[]): boolean {
    if (answers.every(({ options }) => keepsRights(options, now, source))) return true;
    const bound = binds.all;
    if (bound.length === 0 || !(reason === 'reserved' || this.doubtful.has(process))) return false;
    this.doubtful.add(process);
    return mayBind(now, source, bound.map(listenOf));
  }
}

const credentialsOf = ({ answers }: Session) => answers.flatMap(({ credentials }) => credentials);

/** By the port: sshd may have resolved another name to the same address. True if the binds are not known. */
const mayListenAt = (binds: readonly SshdBind[], names: OverlappingNames): boolean =>
  binds.length === 0 || binds.some(({ port }) => names.havePort(port));

/** The bind as in `permitlisten`; undefined for all addresses. */
function listenOf({ host, port }: SshdBind): string | undefined {
  if (host === undefined) return undefined;
  const name = host.toLowerCase();
  return `${isIPv6(name) ? `[${name}]` : name}:${port}`;
}
