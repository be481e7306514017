import type { Ended, OpenSessions, Stop } from './open-sessions.js';
import type { Item, Report, ReportAnswer } from './report.js';
import { ReportDraft, type WholeState } from './report-draft.js';

/** After 15 s of silence the service forgets a gateway. */
const FORGOTTEN_AFTER_MS = 14_000;
/** The service ignores an end for these reasons if it forgot the begin. */
const UNKNOWN = ['unknown_session', 'unknown_tunnel'];

/**
 * Decides what each report says, so that the service knows what is open, however many reports and answers are lost. One
 * report is under way at a time. It is the same one until it was answered or refused.
 */
export class Reports {
  private lastNumber = 0;
  private underWay: Report | undefined;
  private whole: WholeState | undefined;
  private wantsWhole = true;
  /** When the last report that was answered was sent; before that, when the first one was made. */
  private heardAt: number | undefined;
  private knownDrops = 0;
  /** The service may have forgotten what earlier reports told. */
  private knownSince = 1;
  /** Not everything had room in the last report. */
  private isBehind = false;
  /** Not all counters had room in it. */
  private hasMoreCounters = false;

  constructor(private readonly open: OpenSessions) {}

  /** The report to send now. */
  next(): Report {
    this.underWay ??= this.build();
    return this.underWay;
  }

  /** When the next report is due. `at_once`: more has to be told than the last one had room for. */
  get due(): 'at_once' | 'soon' | 'counters' | 'heartbeat' {
    if (this.underWay !== undefined || this.isBehind) return 'at_once';
    if (this.wantsWhole || this.open.hasNews) return 'soon';
    return this.hasMoreCounters ? 'counters' : 'heartbeat';
  }

  /** The stream of changes is followed from now on: stops may have been missed before. */
  followed(): void {
    this.whole = undefined;
    this.wantsWhole = true;
  }

  /** The service has answered the report that is under way. Returns the stops to obey. */
  answered({ counted, ignored, send_whole, stops }: ReportAnswer, sentAt: number): readonly Stop[] {
    const report = this.underWay;
    if (report === undefined) return [];
    this.underWay = undefined;
    const isLast = report.wholeSince !== undefined && report.wholeSince === this.whole?.since;
    if (isLast) this.whole = undefined;
    // The first answer had the stops, and was lost.
    const hasMissedStops = isLast && !counted;
    const isForgotten = this.isForgotten || (send_whole && this.whole === undefined);
    this.heardAt = sentAt;
    if (isForgotten) this.knownSince = report.number + (counted ? 0 : 1);
    this.takeBack(report, ignored);
    if (isForgotten || hasMissedStops) this.followed();
    return stops;
  }

  /** The item of the report under way at a place such as `sessions[3]`. */
  itemAt(place: unknown): Item | undefined {
    const [, kind, n] = /^(\w+)\[(\d+)\]$/.exec(String(place)) ?? [];
    return this.underWay?.items.filter((item) => item.kind === kind)[Number(n)];
  }

  /** The service refuses this item. It is left out of the report under way, and so is what belongs to it. */
  leaveOut(refused: Item): void {
    if (this.underWay === undefined) return;
    if (refused.begun !== undefined) refused.begun.isRefused = true;
    const stays = (item: Item): boolean =>
      item !== refused && item.begun?.isLeftOut !== true && item.ended?.what.isLeftOut !== true;
    this.underWay = { ...this.underWay, items: this.underWay.items.filter(stays) };
  }

  /** The service may have forgotten everything. */
  private get isForgotten(): boolean {
    return this.heardAt !== undefined && this.open.now() - this.heardAt > FORGOTTEN_AFTER_MS;
  }

  private build(): Report {
    this.lastNumber += 1;
    const number = this.lastNumber;
    this.heardAt ??= this.open.now();
    if (this.wantsWhole || this.open.droppedEnds > this.knownDrops) {
      this.whole = { since: number, rest: this.open.all(), isDone: false };
    }
    [this.wantsWhole, this.knownDrops] = [false, this.open.droppedEnds];
    if (this.isForgotten) this.knownSince = number;
    const draft = new ReportDraft(this.open, number, this.knownSince);
    draft.tellEnds();
    draft.tellBegins();
    if (this.whole !== undefined) draft.tellWhole(this.whole);
    draft.tellConnections();
    draft.tellUse();
    const { hasNews, ended, usedMore } = this.open;
    this.hasMoreCounters = usedMore.size > 0;
    this.isBehind = hasNews || this.whole?.isDone === false;
    // What ended and is not told yet must not end as lost.
    const isWhole = this.whole?.isDone === true && ended.size === 0;
    return draft.report(isWhole ? this.whole?.since : undefined);
  }

  /** The service did not know what ended. So its begin and its end are told together, unless that was of no use. */
  private takeBack({ items }: Report, ignored: ReportAnswer['ignored']): void {
    const unknown = new Set(ignored.flatMap(({ id, reason }) => (UNKNOWN.includes(reason) ? [id] : [])));
    for (const { begun } of items) if (begun !== undefined && unknown.has(begun.id)) begun.toldIn = 0;
    const ends = items.flatMap(({ ended }) => ended ?? []);
    for (const { what } of ends) what.isGone ||= !unknown.has(what.id);
    const isTaken = ({ what, isToldWhole }: Ended) =>
      unknown.has(what.id) && !isToldWhole && what.session?.isGone !== true;
    const taken = ends.filter(isTaken);
    for (const ended of taken) ended.isToldWhole = true;
    this.open.takeBack(taken);
  }
}
