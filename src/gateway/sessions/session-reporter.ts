import { setImmediate as nextTurn, setTimeout as sleep } from 'node:timers/promises';
import { messageOf } from '../../kernel/error-message.js';
import { retry } from '../../kernel/network/retry.js';
import { Unavailable } from '../../kernel/network/unavailable.js';
import type { GatewayLog } from '../gateway-log.js';
import type { GatewayPart } from '../gateway-part.js';
import { RateLimitedLog } from '../log/rate-limited-log.js';
import type { ServiceClient } from '../service-client.js';
import type { OpenSessions, Stop } from './open-sessions.js';
import { bodyOf, type Item, type Report, type ReportAnswer, type ReportingGateway } from './report.js';
import { Reports } from './reports.js';

/** How long the reporter waits. */
const PAUSES = {
  at_once: 0,
  /** After something happened, so that a report tells what happens at the same time too. */
  soon: 200,
  /** Counters that had no room: clients with much traffic always have new ones. */
  counters: 1_000,
  /** The service expects a report every 5 s. */
  heartbeat: 4_000,
  failed: [200, 400, 800, 1_600] as readonly number[],
  /** After an answer that will hardly be another one soon. */
  refused: 10_000,
  /** For the last reports of a gateway that stops. */
  stopping: 2_000,
};
const EARLIER_VERSION =
  'the service has no /ssh_gateway/sessions: it is an earlier version, and the gateway goes on without reports';

const SUBJECT = { name: 'reports' };

interface Told {
  readonly service: Pick<ServiceClient, 'ask'>;
  readonly log: GatewayLog;
  readonly metrics?: { readonly reportFailures: { inc(): void } };
}

/** Reports to the service what is open and what has ended, and ends the sessions that somebody stopped. */
export class SessionReporter implements GatewayPart {
  private readonly reports: Reports;
  private readonly lines: RateLimitedLog;
  private readonly stopping = new AbortController();
  private timer: NodeJS.Timeout | undefined;
  private dueAt = Number.POSITIVE_INFINITY;
  private sending: Promise<void> | undefined;
  private hasBegun = false;
  private isStopping = false;
  private hasFailed = false;
  private knownDrops = 0;

  constructor(
    private readonly told: Told,
    private readonly sessions: OpenSessions,
    private readonly gateway: ReportingGateway,
    private readonly pausesMs = PAUSES,
  ) {
    this.reports = new Reports(sessions);
    this.lines = new RateLimitedLog(told.log, 'reports about sessions');
    sessions.onNews = () => this.dueIn(pausesMs.soon);
  }

  /** The first report follows when the stream of changes is followed. */
  async start(): Promise<void> {}

  /** Ends what is still open, and reports all ends if the service takes them within a short time. */
  async stop(): Promise<void> {
    if (!this.hasBegun) return;
    this.isStopping = true;
    clearTimeout(this.timer);
    // Connections that are ending tell why in the next turn of the event loop.
    await nextTurn();
    this.sessions.endAll('gateway_stopped');
    const { signal } = this.stopping;
    await Promise.race([this.sendAll(), sleep(this.pausesMs.stopping, undefined, { signal })]);
    this.stopping.abort();
  }

  /** The stream of changes is followed from now on. */
  followed(): void {
    this.hasBegun = true;
    this.reports.followed();
    this.dueIn(this.pausesMs.soon);
  }

  /** Ends the sessions that somebody stopped. A session of another account may have the same id at another gateway. */
  stopped(stops: readonly Stop[]): void {
    for (const stop of stops) {
      const session = this.sessions.find(stop.session_id);
      if (session?.accountId === stop.account_id) session.stop(stop);
    }
  }

  /** Does nothing if a report is under way, since the next one follows it. */
  private dueIn(ms: number): void {
    const at = performance.now() + ms;
    if (!this.hasBegun || this.isStopping || this.sending !== undefined || at >= this.dueAt) return;
    this.dueAt = at;
    clearTimeout(this.timer);
    this.timer = setTimeout(() => {
      this.dueAt = Number.POSITIVE_INFINITY;
      this.sending = this.send().finally(() => {
        this.sending = undefined;
        this.dueIn(this.pausesMs[this.reports.due]);
      });
    }, ms).unref();
  }

  private async sendAll(): Promise<void> {
    await this.sending;
    while (this.reports.due !== 'heartbeat' && !this.stopping.signal.aborted) await this.send();
  }

  /** Sends one report until it is answered. Never rejects. */
  private async send(): Promise<void> {
    const report = this.reports.next();
    const { signal } = this.stopping;
    let sentAt = 0;
    const attempt = (): Promise<ReportAnswer> => {
      sentAt = this.sessions.now();
      return this.ask(report);
    };
    const { failed: pausesMs, refused: refusedMs } = this.pausesMs;
    const minPauseMs = (error: unknown): number => ((statusOf(error) ?? 500) < 500 ? refusedMs : 0);
    const failed = (error: unknown): void => this.failed(error);
    const isTransient = (error: unknown): boolean => this.itemOf(error) === undefined;
    try {
      const answer = await retry(attempt, { pausesMs, minPauseMs, isTransient, signal, failed });
      this.succeeded();
      this.stopped(this.reports.answered(answer, sentAt));
    } catch (error) {
      if (!signal.aborted) this.refused(error);
    }
  }

  private async ask(report: Report): Promise<ReportAnswer> {
    const body = bodyOf(report, this.gateway, this.sessions.now());
    const answer = await this.told.service.ask<ReportAnswer | null>('POST', 'sessions', body);
    if (answer === undefined) throw new Unavailable(EARLIER_VERSION, { status: 404 });
    if (typeof answer?.counted === 'boolean' && Array.isArray(answer.ignored) && Array.isArray(answer.stops))
      return answer;
    throw new Unavailable('the answer to a report is not from the service; check SERVICE_URL');
  }

  /** The item that the service refuses. */
  private itemOf(error: unknown): Item | undefined {
    return error instanceof Unavailable ? this.reports.itemAt(error.answer?.item) : undefined;
  }

  private refused(error: unknown): void {
    const item = this.itemOf(error);
    if (item === undefined) return;
    this.told.metrics?.reportFailures.inc();
    this.reports.leaveOut(item);
    const { kind, fields } = item;
    const { id, account_id: account } = fields as { readonly id?: string; readonly account_id?: string };
    const message = `left out of the reports what the service refuses: ${messageOf(error)}`;
    this.lines.line(SUBJECT, { kind, id, account }, message, 'warn');
  }

  private failed(error: unknown): void {
    this.told.metrics?.reportFailures.inc();
    if (!this.hasFailed) this.lines.line(SUBJECT, {}, `sessions are not reported: ${messageOf(error)}`, 'warn');
    this.hasFailed = true;
  }

  private succeeded(): void {
    if (this.hasFailed) this.lines.line(SUBJECT, {}, 'sessions are reported again');
    this.hasFailed = false;
    const { droppedEnds, droppedConnections } = this.sessions;
    const dropped = droppedEnds + droppedConnections - this.knownDrops;
    if (dropped > 0) {
      this.lines.line(SUBJECT, { dropped }, 'left out of the reports what was too much to keep meanwhile', 'warn');
    }
    this.knownDrops += dropped;
  }
}

const statusOf = (error: unknown): number | undefined =>
  error instanceof Unavailable ? error.answer?.status : undefined;
