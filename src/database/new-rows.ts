import { setTimeout as sleep } from 'node:timers/promises';
import type { Pool } from 'pg';
import { messageOf } from '../kernel/error-message.js';
import { type NamedStatement, onlyRow, onPrimary, queryNamed } from './query.js';

/** A state of the database, up to which all rows are known. */
export interface Watermark {
  /** The snapshot, as pg_current_snapshot() writes it. */
  readonly snapshot: string;
  /** Start of the server. Snapshots of two servers cannot be compared. */
  readonly server: string;
  /** The database's clock. */
  readonly now: string;
}

/**
 * Conditions of rows that the last look, with the snapshot $1, did not see. `moment` has the snapshot of this look. They
 * stand in two selects, since each then reads new rows alone by an index on transaction_id; an `or` may read all.
 */
export const BEGAN_LATER = `transaction_id >= pg_snapshot_xmax($1::pg_snapshot)
  and transaction_id < (select pg_snapshot_xmax(snapshot) from moment)`;
/** The other half of these rows: see BEGAN_LATER. */
export const WAS_IN_PROGRESS = `transaction_id = any(array(select pg_snapshot_xip($1::pg_snapshot)))`;

/** Where new rows are looked for. */
export interface RowSource {
  /** The name of the statement. */
  readonly name: string;
  /** Selects, each of which ends in its `where`. */
  readonly selects: readonly ((isNew: string) => string)[];
  /** Beyond this many rows at once the readers must ask anew. */
  readonly maxRows: number;
  readonly pollEveryMs: number;
  /** The values of $2 and further ones. */
  values?(): readonly unknown[];
}

/** Who hears of new rows. */
export interface RowReader<Row> {
  /** Comes after each look, also without rows. `now` is the database's clock. */
  news(rows: readonly Row[], now: string): void;
  /** Rows may have been missed. The reader hears of no further ones. */
  lost(): void;
}

/**
 * Tells readers of every row that becomes visible after they were added, however late its transaction commits. All
 * readers share one statement, and without readers none runs.
 */
export class NewRows<Row> {
  private readonly readers = new Set<RowReader<Row>>();
  private readonly statement: NamedStatement;
  private last: Watermark | undefined;
  private started: Promise<void> | undefined;

  constructor(
    private readonly pool: Pool,
    private readonly source: RowSource,
    private readonly warn: (message: string) => void = () => undefined,
  ) {
    this.statement = statementOf(source);
  }

  /** Resolves with the database's clock when no row can be missed from then on. Rejects if the database is away. */
  async add(reader: RowReader<Row>): Promise<string> {
    this.readers.add(reader);
    this.started ??= this.start();
    await this.started;
    return this.last?.now ?? '';
  }

  remove(reader: RowReader<Row>): void {
    this.readers.delete(reader);
  }

  /**
   * The rows that a watermark did not see; none without a watermark. Undefined if there are too many, or if another
   * server answers: then there may be any.
   */
  async since(last: Watermark | undefined): Promise<{ watermark: Watermark; rows: readonly Row[] | undefined }> {
    const values = [last?.snapshot ?? null, ...(this.source.values?.() ?? [])];
    const answer = await queryNamed<Watermark & { rows: Row[] }>(this.pool, this.statement, values);
    const { rows, ...watermark } = onlyRow(answer.rows);
    const isWhole = rows.length <= this.source.maxRows && (last === undefined || last.server === watermark.server);
    return { watermark, rows: isWhole ? rows : undefined };
  }

  private async start(): Promise<void> {
    try {
      this.last = (await this.since(undefined)).watermark;
      void this.poll();
    } catch (error) {
      this.end(error);
      throw error;
    }
  }

  private async poll(): Promise<void> {
    try {
      for (;;) {
        await sleep(this.source.pollEveryMs);
        if (this.readers.size === 0) return this.end(undefined);
        const { watermark, rows } = await this.since(this.last);
        if (rows === undefined) return this.end('too many changes at once, or another database server');
        this.last = watermark;
        for (const reader of this.readers) reader.news(rows, watermark.now);
      }
    } catch (error) {
      this.end(error);
    }
  }

  private end(reason: unknown): void {
    const readers = [...this.readers];
    this.readers.clear();
    this.started = undefined;
    if (readers.length > 0) this.warn(`those who follow changes must ask anew: ${messageOf(reason)}`);
    for (const reader of readers) reader.lost();
  }
}

function statementOf({ name, selects, maxRows }: RowSource): NamedStatement {
  const found = selects.flatMap((select) => [select(BEGAN_LATER), select(WAS_IN_PROGRESS)]).join('\nunion all ');
  return onPrimary({
    name,
    text: `with moment as materialized (select pg_current_snapshot() as snapshot, clock_timestamp() as now),
      found as materialized (${found} limit ${maxRows + 1})
    select snapshot::text, pg_postmaster_start_time()::text as server, now::text,
      (select coalesce(json_agg(found), '[]') from found) as rows
    from moment`,
  });
}
