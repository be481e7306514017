import { visibleLine } from './print.js';

const REDRAW_MS = 200;

/** Shows how far a long operation is, in one line that is redrawn. */
export interface Progress {
  /** Begins a part of the operation. `total`: the number of its `unit`s, exact or estimated, if it is known. */
  begin(what: string, unit: string, total?: number, kind?: 'exact' | 'estimate'): void;
  add(count: number): void;
  /** The last part is complete: draws it and ends the line. */
  done(): void;
}

interface Terminal {
  readonly isTTY?: boolean;
  write(text: string): unknown;
}

/** A progress line on a terminal; silent elsewhere, in a log or a pipe. */
export function progressOn(terminal: Terminal, now: () => number = Date.now): Progress {
  return terminal.isTTY === true
    ? new ProgressLine(terminal, now)
    : { begin: () => undefined, add: () => undefined, done: () => undefined };
}

class ProgressLine implements Progress {
  private what = '';
  private unit = '';
  private total: number | undefined;
  private isEstimate = false;
  private count = 0;
  private startedMs = 0;
  private drawnMs = 0;

  constructor(
    private readonly terminal: Terminal,
    private readonly now: () => number,
  ) {}

  begin(what: string, unit: string, total?: number, kind = 'exact'): void {
    const isEstimate = total !== undefined && kind === 'estimate';
    Object.assign(this, { what, unit, total, isEstimate, count: 0, startedMs: this.now(), drawnMs: 0 });
    this.draw();
  }

  add(count: number): void {
    this.count += count;
    // The estimate was too low, so the total is unknown.
    if (this.isEstimate && this.count > (this.total ?? 0)) this.total = undefined;
    if (this.now() - this.drawnMs >= REDRAW_MS) this.draw();
  }

  done(): void {
    if (this.isEstimate) this.total = this.count;
    this.draw();
    this.terminal.write('\n');
  }

  private draw(): void {
    const { what, unit, total, count } = this;
    this.drawnMs = this.now();
    const line = progressLine({ what, unit, total, count, elapsedMs: this.drawnMs - this.startedMs });
    this.terminal.write(`\r\u001b[K${visibleLine(line)}`);
  }
}

export interface ProgressState {
  readonly what: string;
  readonly unit: string;
  readonly total: number | undefined;
  readonly count: number;
  readonly elapsedMs: number;
}

/** For example `repair  420,000 of 1,000,000 events  42 %  95,000/s  6 s left`. */
export function progressLine({ what, unit, total, count, elapsedMs }: ProgressState): string {
  const perSecond = elapsedMs > 0 ? (count / elapsedMs) * 1000 : 0;
  const of = total === undefined ? '' : ` of ${text(total)}`;
  const parts = [what, `${text(count)}${of} ${unit}`];
  if (total !== undefined && total > 0) parts.push(`${Math.min(100, Math.floor((count / total) * 100))} %`);
  if (perSecond > 0) parts.push(`${text(Math.round(perSecond))}/s`);
  if (perSecond > 0 && total !== undefined && total > count)
    parts.push(`${duration((total - count) / perSecond)} left`);
  return parts.join('  ');
}

const text = (count: number): string => count.toLocaleString('en-US');

const duration = (seconds: number): string =>
  seconds < 90 ? `${Math.ceil(seconds)} s` : `${Math.ceil(seconds / 60)} min`;
