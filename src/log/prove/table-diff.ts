import { isDeepStrictEqual } from 'node:util';
import { compareKeys, RowBytes } from '../../database/copy-binary.js';
import type { CopiedRows } from '../../database/copy-out.js';
import type { EntityRow } from '../read-model.js';
import type { ReplayedStream } from '../replay/replay.js';
import type { RowEncoder } from '../replay/row-encoder.js';

/** A field of a live row that differs from the log. The field `(row)` stands for a row that only one side has. */
export interface Difference {
  readonly table: string;
  readonly account: string;
  /** The rest of the row's key, its parts separated by blanks. */
  readonly key: string;
  readonly field: string;
  /** JSON or NULL, shortened if long; `(hidden)` for a field that the API does not show either. */
  readonly live: string;
  /** In the same form. */
  readonly log: string;
}

const ROW = '(row)';
const THERE = 'there';
const NOT_THERE = 'not there';
const MAX_VALUE_CHARACTERS = 60;
/** Estimate for the rows that one batch of events makes; the next batch reuses the memory. */
const EXPECTED_BYTES = 1 << 16;

/** Where a row starts and ends in its buffer. */
interface RowRange {
  readonly start: number;
  readonly end: number;
}

/**
 * Compares the live rows of a table with the rows that the log makes, by a merge in the order of the primary key;
 * memory holds one batch of each. Both are in COPY's binary format, so equal rows are equal bytes.
 */
export class TableDiff {
  rows = 0;
  differences = 0;
  private readonly live: LiveRows;
  private readonly logRows = new RowBytes(EXPECTED_BYTES);
  private readonly keyFields: number;

  constructor(
    private readonly encoder: RowEncoder,
    live: AsyncIterator<CopiedRows>,
    private readonly hidden: ReadonlySet<string>,
    private readonly onDifference: (difference: Difference) => void,
  ) {
    this.live = new LiveRows(live);
    this.keyFields = encoder.table.primaryKey.length;
  }

  /** Streams must come in the order of their accounts and ids. */
  async compare(streams: readonly ReplayedStream[]): Promise<void> {
    this.logRows.clear();
    const rows: RowRange[] = [];
    for (const { entity } of streams) if (entity !== undefined) this.encode(entity, rows);
    for (const row of rows) while (!this.mergeUpTo(row)) await this.live.refill();
  }

  /** Call after the last stream. Reports the remaining live rows. */
  async end(): Promise<void> {
    for (; !this.live.isEnded; await this.live.refill()) {
      for (; this.live.row !== undefined; this.live.advance()) this.reportOnlyLive(this.live.row);
    }
  }

  /** Appends the rows of an entity, in the order of their keys. */
  private encode(entity: EntityRow, to: RowRange[]): void {
    const before = to.length;
    for (const row of this.encoder.table.rowsOf(entity)) {
      const start = this.logRows.size;
      this.encoder.encode(row, this.logRows);
      to.push({ start, end: this.logRows.size });
    }
    if (to.length - before < 2) return;
    const { bytes } = this.logRows;
    to.push(...to.splice(before).sort((a, b) => compareKeys(bytes, a.start, bytes, b.start, this.keyFields)));
  }

  /** Consumes the live rows up to a row of the log; false if it needs more live rows first. */
  private mergeUpTo(log: RowRange): boolean {
    for (; this.live.row !== undefined; this.live.advance()) {
      const order = this.compareRows(this.live.row, log);
      if (order > 0) break;
      if (order === 0) {
        this.live.advance();
        return true;
      }
      this.reportOnlyLive(this.live.row);
    }
    if (this.live.row === undefined && !this.live.isEnded) return false;
    this.rows += 1;
    this.report(this.logRows.bytes, log, ROW, NOT_THERE, THERE);
    return true;
  }

  private reportOnlyLive(row: RowRange): void {
    this.rows += 1;
    this.report(this.live.bytes, row, ROW, THERE, NOT_THERE);
  }

  /** Compares the keys. If they are equal, returns 0 and reports the fields that differ. */
  private compareRows(live: RowRange, log: RowRange): number {
    const [liveBytes, logBytes] = [this.live.bytes, this.logRows.bytes];
    const isSame = liveBytes.compare(logBytes, log.start, log.end, live.start, live.end) === 0;
    const order = isSame ? 0 : compareKeys(liveBytes, live.start, logBytes, log.start, this.keyFields);
    if (order !== 0) return order;
    this.rows += 1;
    if (!isSame) this.compareFields(live, log);
    return 0;
  }

  private compareFields(live: RowRange, log: RowRange): void {
    const liveValues = this.encoder.decode(this.live.bytes, live.start);
    const logValues = this.encoder.decode(this.logRows.bytes, log.start);
    this.encoder.table.columns.forEach((column, i) => {
      if (isDeepStrictEqual(liveValues[i], logValues[i])) return;
      const printed = (value: unknown): string => (this.hidden.has(column) ? '(hidden)' : shortened(value));
      this.report(this.live.bytes, live, column, printed(liveValues[i]), printed(logValues[i]));
    });
  }

  private report(bytes: Buffer, { start }: RowRange, field: string, live: string, log: string): void {
    const [account, ...key] = this.encoder.decode(bytes, start).slice(0, this.keyFields);
    this.differences += 1;
    const { name: table } = this.encoder.table;
    this.onDifference({ table, account: String(account), key: key.join(' '), field, live, log });
  }
}

function shortened(value: unknown): string {
  const text = value === undefined ? 'NULL' : JSON.stringify(value);
  if (text.length <= MAX_VALUE_CHARACTERS) return text;
  return `${text.slice(0, MAX_VALUE_CHARACTERS)}… (${text.length} characters)`;
}

/** Cursor over rows that arrive in batches. To await each row would cost more than the row itself. */
class LiveRows {
  isEnded = false;
  /** Undefined if the batch is used up. */
  row: RowRange | undefined;
  private batch: CopiedRows = { bytes: Buffer.alloc(0), starts: [], ends: [] };
  private at = 0;

  constructor(private readonly source: AsyncIterator<CopiedRows>) {}

  get bytes(): Buffer {
    return this.batch.bytes;
  }

  advance(): void {
    this.moveTo(this.at + 1);
  }

  async refill(): Promise<void> {
    const { value, done } = await this.source.next();
    this.isEnded = done === true;
    this.batch = value ?? { ...this.batch, starts: [], ends: [] };
    this.moveTo(0);
  }

  private moveTo(at: number): void {
    const [start, end] = [this.batch.starts[at], this.batch.ends[at]];
    this.at = at;
    this.row = start === undefined || end === undefined ? undefined : { start, end };
  }
}
