import { isDeepStrictEqual } from 'node:util';
import { NULL_TEXT, unescaped } from '../database/copy-text.js';
import { compareKeys, type Lines } from './proof-rows.js';
import type { RowPrinter } from './row-printer.js';

/** What is not as the log says: a field of a row, or (field `(row)`) that it is there at all. */
export interface Difference {
  readonly table: string;
  readonly account: string;
  /** The rest of the row's key, its parts divided by blanks. */
  readonly key: string;
  readonly field: string;
  /** As PostgreSQL prints it, `\N` for null; shortened when long, `(hidden)` when nobody is to see it. */
  readonly live: string;
  readonly log: string;
}

export const ROW = '(row)';
const THERE = 'there';
const NOT_THERE = 'not there';
const MOST_SHOWN = 60;

/** A merge of two ordered lists of rows, with no more of them in memory than what has just arrived. */
export class Compared {
  rows = 0;
  differences = 0;

  constructor(
    private readonly printer: RowPrinter,
    private readonly hidden: ReadonlySet<string>,
    private readonly report: (difference: Difference) => void,
  ) {}

  async run(liveLines: Lines, logLines: Lines): Promise<void> {
    const [live, log] = [new Feed(liveLines), new Feed(logLines)];
    for (;;) {
      if (live.isUsedUp) await live.refill();
      if (log.isUsedUp) await log.refill();
      const { line: ofLive } = live;
      const { line: ofLog } = log;
      if (ofLive === undefined && ofLog === undefined) return;
      const order = ofLive === ofLog ? 0 : this.compare(ofLive, ofLog);
      this.rows += 1;
      if (order <= 0) live.advance();
      if (order >= 0) log.advance();
    }
  }

  /** Which row comes first, 0 for two versions of one; reports the difference. */
  private compare(live: string | undefined, log: string | undefined): number {
    const order = this.order(live, log);
    if (order < 0) this.differ(live ?? '', ROW, THERE, NOT_THERE);
    else if (order > 0) this.differ(log ?? '', ROW, NOT_THERE, THERE);
    else this.compareFields(live ?? '', log ?? '');
    return order;
  }

  private order(live: string | undefined, log: string | undefined): number {
    if (live === undefined) return 1;
    if (log === undefined) return -1;
    return compareKeys(this.keyOf(live), this.keyOf(log));
  }

  private compareFields(live: string, log: string): void {
    const [ofLive, ofLog] = [live.split('\t'), log.split('\t')];
    this.printer.table.columns.forEach((column, i) => {
      const [a = '', b = ''] = [ofLive[i], ofLog[i]];
      if (a === b || (this.printer.isJson(i) && isSameJson(a, b))) return;
      const shown = (text: string): string => (this.hidden.has(column) ? '(hidden)' : shortened(text));
      this.differ(live, column, shown(a), shown(b));
    });
  }

  private differ(line: string, field: string, live: string, log: string): void {
    const [account = '', ...key] = this.keyOf(line);
    this.differences += 1;
    this.report({ table: this.printer.table.name, account, key: key.join(' '), field, live, log });
  }

  private keyOf(line: string): string[] {
    return line.split('\t', this.printer.table.primaryKey.length).map(unescaped);
  }
}

const isSameJson = (a: string, b: string): boolean =>
  a !== NULL_TEXT && b !== NULL_TEXT && isDeepStrictEqual(JSON.parse(unescaped(a)), JSON.parse(unescaped(b)));

const shortened = (text: string): string =>
  text.length <= MOST_SHOWN ? text : `${text.slice(0, MOST_SHOWN)}… (${text.length} characters)`;

/** Lines that come in batches, looked at one by one; a wait for each line would cost more than the line. */
class Feed {
  private batch: readonly string[] = [];
  private at = 0;
  private isEnded = false;

  constructor(private readonly source: Lines) {}

  get isUsedUp(): boolean {
    return this.at === this.batch.length && !this.isEnded;
  }

  /** Undefined once there are no more. */
  get line(): string | undefined {
    return this.batch[this.at];
  }

  advance(): void {
    this.at += 1;
  }

  async refill(): Promise<void> {
    this.at = 0;
    do {
      const { value, done } = await this.source.next();
      this.isEnded = done === true;
      this.batch = value ?? [];
    } while (this.batch.length === 0 && !this.isEnded);
  }
}
