import { setTimeout as pause } from 'node:timers/promises';
import type { Pool } from 'pg';
import { PostgresFailure } from '../../database/failure.js';
import { type NamedStatement, queryNamed } from '../../database/query.js';
import { Problem } from '../../problem.js';

/** Nobody appends while this has the head, and whoever appends later gets a later time. Does not wait: that would hold a connection. */
const TAKE_HEAD = {
  name: 'take_head',
  text: `select extract(epoch from clock_timestamp())::float8 as time from log_heads where account_id = $1
    for share nowait`,
};
const HEAD_TIME = {
  name: 'head_time',
  text: 'select extract(epoch from recorded_at)::float8 as time from log_heads where account_id = $1',
};
const TRY_AGAIN_MS = 10;
const MAX_WAIT_MS = 5_000;
/** Accounts whose settled times are remembered. */
const MAX_REMEMBERED = 10_000;

/** Knows up to which time a log can have no more events. */
export class CommitHorizon {
  /** For an account, a time up to which no event can come any more: seconds since 1970, to the microsecond. */
  private readonly settled = new Map<string, number>();
  private readonly looking = new Map<string, Promise<void>>();

  constructor(private readonly pool: Pool) {}

  /**
   * Resolves when no event of this time can come any more. An append gives its events their time before its commit, so the
   * one that is under way, if any, must have ended. One look at a time for an account, and none for what was settled before.
   */
  async wait(accountId: string, time: number): Promise<void> {
    const until = Date.now() + MAX_WAIT_MS;
    while ((this.settled.get(accountId) ?? 0) < time) {
      if (Date.now() > until) throw new Problem('overloaded', 'A change is under way for long. Try again shortly.');
      const looking = this.looking.get(accountId) ?? this.look(accountId);
      this.looking.set(accountId, looking);
      await looking;
    }
  }

  private async look(accountId: string): Promise<void> {
    try {
      this.remember(accountId, await this.timeOf(TAKE_HEAD, accountId));
    } catch (error) {
      if (!PostgresFailure.of(error).isLockHeld) throw error;
      await pause(TRY_AGAIN_MS);
      // What is under way is later than what was committed, so where appends never cease, each settles what was before it.
      this.remember(accountId, await this.timeOf(HEAD_TIME, accountId));
    } finally {
      this.looking.delete(accountId);
    }
  }

  private async timeOf(statement: NamedStatement, accountId: string): Promise<number> {
    const { rows } = await queryNamed<{ time: number }>(this.pool, statement, [accountId]);
    return rows[0]?.time ?? Number.POSITIVE_INFINITY;
  }

  private remember(accountId: string, time: number): void {
    if (this.settled.size >= MAX_REMEMBERED) this.settled.clear();
    this.settled.set(accountId, Math.max(time, this.settled.get(accountId) ?? 0));
  }
}
