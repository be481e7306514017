import type { Pool } from 'pg';
import { NewRows } from '../../database/index.js';

/** An event that has become visible. The tail says only which one. */
export interface TailEvent {
  readonly account_id: string;
  readonly stream_id: string;
  readonly type: string;
  readonly position: number;
}

const SOURCE = {
  name: 'log_tail',
  selects: [(isNew: string) => `select account_id, stream_id, type, position from events where ${isNew}`],
  maxRows: 10_000,
  /** The longest delay until a reader hears of an event, whichever instance wrote it. */
  pollEveryMs: 25,
};

/**
 * The new events of all accounts, for all who follow the log in this process: each reader keeps what concerns it. Appends
 * do not use NOTIFY, because PostgreSQL commits transactions with NOTIFY only one after the other.
 */
export class LogTail extends NewRows<TailEvent> {
  constructor(pool: Pool, warn?: (message: string) => void) {
    super(pool, SOURCE, warn);
  }
}
