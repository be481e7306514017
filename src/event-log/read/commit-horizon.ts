import { setTimeout as sleep } from 'node:timers/promises';
import type { Pool } from 'pg';
import { durableLimits, type NamedStatement, PostgresFailure, queryNamed } from '../../database/index.js';
import { Problem } from '../../kernel/problem.js';

/**
 * Locks the head. Appends before the lock are committed, and appends after it get a later time. It does not wait for the
 * lock, because waiting would occupy a connection.
 */
const LOCK_HEAD = {
  name: 'lock_head',
  text: `select extract(epoch from clock_timestamp())::float8 as time from log_heads where account_id = $1
    for share nowait`,
};
const HEAD_TIME = {
  name: 'head_time',
  text: 'select extract(epoch from recorded_at)::float8 as time from log_heads where account_id = $1',
};
const RETRY_MS = 10;
const MAX_WAIT_MS = 5_000;
const MAX_ACCOUNTS = 10_000;

/** Knows up to which time the events of a log are final. No append can add an event of an earlier time. */
export class CommitHorizon {
  /** This time for each account, in seconds since 1970, to the microsecond. */
  private readonly horizons = new Map<string, number>();
  private readonly queries = new Map<string, Promise<void>>();

  constructor(private readonly pool: Pool) {}

  /**
   * Resolves when no append can add an event of this time. An append sets the time of its events before its commit, so
   * an append in progress must end first. An account has at most one query at a time.
   */
  async wait(accountId: string, time: number): Promise<void> {
    const deadline = Date.now() + MAX_WAIT_MS;
    while ((this.horizons.get(accountId) ?? 0) < time) {
      if (Date.now() > deadline)
        throw new Problem('overloaded', 'A change is taking too long to commit. Try again shortly.');
      const query = this.queries.get(accountId) ?? this.update(accountId);
      this.queries.set(accountId, query);
      await query;
    }
  }

  private async update(accountId: string): Promise<void> {
    try {
      this.advance(accountId, await this.timeOf(LOCK_HEAD, accountId));
    } catch (error) {
      if (!PostgresFailure.of(error).isLockHeld) throw error;
      await sleep(RETRY_MS);
      // A running append has a later time than the committed head, so constant appends advance the horizon.
      this.advance(accountId, await this.timeOf(HEAD_TIME, accountId));
    } finally {
      this.queries.delete(accountId);
    }
  }

  private async timeOf(statement: NamedStatement, accountId: string): Promise<number> {
    const { rows } = await queryNamed<{ time: number }>(this.pool, statement, [accountId], durableLimits());
    return rows[0]?.time ?? Number.POSITIVE_INFINITY;
  }

  private advance(accountId: string, time: number): void {
    if (this.horizons.size >= MAX_ACCOUNTS) this.horizons.clear();
    this.horizons.set(accountId, Math.max(time, this.horizons.get(accountId) ?? 0));
  }
}
