import type { Pool } from 'pg';
import { type NamedStatement, queryNamed } from '../../database/index.js';

interface LogSize {
  readonly events: number;
  readonly bytes: number;
}

/** Reads a row for each account, and the sizes of files, but not the log itself. */
const LOG_SIZE: NamedStatement = {
  name: 'log_size',
  text: `select coalesce(sum(h.size), 0)::float8 as events, pg_total_relation_size('events')::float8 as bytes from log_heads h`,
};

/** However many programs scrape, and however often, an instance asks once in this time. */
const KEPT_MS = 60_000;

/** The size of the logs of all accounts, at most a minute old. */
export class LogSizes {
  private last: Promise<LogSize | undefined> | undefined;
  private askedAt = Number.NEGATIVE_INFINITY;

  constructor(private readonly pool: Pool) {}

  /** Undefined if the database does not answer in time; the next call asks again. */
  current(): Promise<LogSize | undefined> {
    const now = performance.now();
    if (this.last === undefined || now - this.askedAt >= KEPT_MS) {
      this.askedAt = now;
      this.last = this.ask();
    }
    return this.last;
  }

  private async ask(): Promise<LogSize | undefined> {
    try {
      const { rows } = await queryNamed<LogSize & object>(this.pool, LOG_SIZE, []);
      return rows[0];
    } catch {
      this.last = undefined;
      return undefined;
    }
  }
}
