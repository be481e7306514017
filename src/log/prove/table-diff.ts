import { isDeepStrictEqual } from 'node:util';
import { compareKeys, RowBytes } from '../../database/copy-binary.js';
import type { CopiedRows } from '../../database/copy-out.js';
import type { EntityRow } from '../read-model.js';
import type { ReplayedStream } from '../replay/replay.js';
import type { RowEncoder } from '../replay/row-encoder.js';

/** What is not as the log says: a field of a row, or (field `(row)`) that it is there at all. */
export interface Difference {
  readonly table: string;
  readonly account: string;
  /** The rest of the row's key, its parts divided by blanks. */
  readonly key: string;
  readonly field: string;
  /** As JSON, or NULL; shortened when long, `(hidden)` when nobody is to see it. */
  readonly live: string;
  readonly log: string;
}

export const ROW = '(row)';
const THERE = 'there';
const NOT_THERE = 'not there';
const MOST_SHOWN = 60;
/** Of the rows that one batch of events makes; their memory is used again for the next. */
const EXPECTED_BYTES = 1 << 16;

/** Where a row is in its bytes. */
interface Place {
  readonly start: number;
  readonly end: number;
}

/**
 * Holds the rows of a table against those that the log makes, both in the order of the primary key, with no more of them
 * in memory than what has just arrived. Both are the bytes of COPY, so that equal rows are told at one look.
 */
export class TableDiff {
  rows = 0;
  differences = 0;
  private readonly live: LiveRows;
  private readonly made = new RowBytes(EXPECTED_BYTES);
  private readonly keyFields: number;

  constructor(
    private readonly encoder: RowEncoder,
    live: AsyncIterator<CopiedRows>,
    private readonly hidden: ReadonlySet<string>,
    private readonly report: (difference: Difference) => void,
  ) {
    this.live = new LiveRows(live);
    this.keyFields = encoder.table.primaryKey.length;
  }

  /** Streams come in the order of their accounts and ids. */
  async take(streams: readonly ReplayedStream[]): Promise<void> {
    this.made.clear();
    const rows: Place[] = [];
    for (const { entity } of streams) if (entity !== undefined) this.make(entity, rows);
    for (const row of rows) while (!this.meets(row)) await this.live.refill();
  }

  /** After the last stream: what the table holds beyond it. */
  async end(): Promise<void> {
    for (; !this.live.isEnded; await this.live.refill()) {
      for (; this.live.row !== undefined; this.live.advance()) this.isOnlyLive(this.live.row);
    }
  }

  /** Adds the rows of an entity, in the order of their keys. */
  private make(entity: EntityRow, to: Place[]): void {
    const before = to.length;
    for (const row of this.encoder.table.rowsOf(entity)) {
      const start = this.made.size;
      this.encoder.encode(row, this.made);
      to.push({ start, end: this.made.size });
    }
    if (to.length - before < 2) return;
    const { bytes } = this.made;
    to.push(...to.splice(before).sort((a, b) => compareKeys(bytes, a.start, bytes, b.start, this.keyFields)));
  }

  /** Passes the live rows up to this one of the log; false when more of them must come first. */
  private meets(log: Place): boolean {
    for (; this.live.row !== undefined; this.live.advance()) {
      const order = this.compare(this.live.row, log);
      if (order > 0) break;
      if (order === 0) {
        this.live.advance();
        return true;
      }
      this.isOnlyLive(this.live.row);
    }
    if (this.live.row === undefined && !this.live.isEnded) return false;
    this.rows += 1;
    this.differ(this.made.bytes, log, ROW, NOT_THERE, THERE);
    return true;
  }

  private isOnlyLive(row: Place): void {
    this.rows += 1;
    this.differ(this.live.bytes, row, ROW, THERE, NOT_THERE);
  }

  /** Which row comes first, 0 for two versions of one, whose differences are reported. */
  private compare(live: Place, log: Place): number {
    const [ofLive, ofLog] = [this.live.bytes, this.made.bytes];
    const isSame = ofLive.compare(ofLog, log.start, log.end, live.start, live.end) === 0;
    const order = isSame ? 0 : compareKeys(ofLive, live.start, ofLog, log.start, this.keyFields);
    if (order !== 0) return order;
    this.rows += 1;
    if (!isSame) this.compareFields(live, log);
    return 0;
  }

  private compareFields(live: Place, log: Place): void {
    const ofLive = this.encoder.decode(this.live.bytes, live.start);
    const ofLog = this.encoder.decode(this.made.bytes, log.start);
    this.encoder.table.columns.forEach((column, i) => {
      if (isDeepStrictEqual(ofLive[i], ofLog[i])) return;
      const shown = (value: unknown): string => (this.hidden.has(column) ? '(hidden)' : shortened(value));
      this.differ(this.live.bytes, live, column, shown(ofLive[i]), shown(ofLog[i]));
    });
  }

  private differ(bytes: Buffer, { start }: Place, field: string, live: string, log: string): void {
    const [account, ...key] = this.encoder.decode(bytes, start).slice(0, this.keyFields);
    this.differences += 1;
    this.report({ table: this.encoder.table.name, account: String(account), key: key.join(' '), field, live, log });
  }
}

function shortened(value: unknown): string {
  const text = value === undefined ? 'NULL' : JSON.stringify(value);
  return text.length <= MOST_SHOWN ? text : `${text.slice(0, MOST_SHOWN)}… (${text.length} characters)`;
}

/** Rows that come in batches, looked at one by one; a wait for each row would cost more than the row. */
class LiveRows {
  isEnded = false;
  /** Undefined until there are more, or there are none. */
  row: Place | undefined;
  private batch: CopiedRows = { bytes: Buffer.alloc(0), starts: [], ends: [] };
  private at = 0;

  constructor(private readonly source: AsyncIterator<CopiedRows>) {}

  get bytes(): Buffer {
    return this.batch.bytes;
  }

  advance(): void {
    this.place(this.at + 1);
  }

  async refill(): Promise<void> {
    const { value, done } = await this.source.next();
    this.isEnded = done === true;
    this.batch = value ?? { ...this.batch, starts: [], ends: [] };
    this.place(0);
  }

  private place(at: number): void {
    const [start, end] = [this.batch.starts[at], this.batch.ends[at]];
    this.at = at;
    this.row = start === undefined || end === undefined ? undefined : { start, end };
  }
}
