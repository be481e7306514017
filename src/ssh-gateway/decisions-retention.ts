import { Logger, type OnModuleDestroy, type OnModuleInit } from '@nestjs/common';
import type { Pool } from 'pg';
import { queryNamed } from '../database/query.js';
import { firstIdOf } from '../ids.js';

const HOUR_MS = 3_600_000;
/** Of a start: not all copies at once, and not while they start. */
const FIRST_WITHIN_MS = HOUR_MS / 6;
const DAY_MS = 24 * HOUR_MS;
const BATCH_ROWS = 1000;
/** Between batches, so that a purge never takes more than a small part of the database's time. */
const PAUSE_MS = 100;

/** Rows that another copy is taking are left to it. */
const PURGE_DECISIONS = {
  name: 'purge_bind_decisions',
  text: `delete from bind_decisions d using (
      select account_id, id from bind_decisions where id < $1 order by id limit $2 for update skip locked
    ) old where d.account_id = old.account_id and d.id = old.id`,
};

/** When a credential was last used is kept for as long as there is a credential. */
const PURGE_USAGE = {
  name: 'purge_credential_usage',
  text: `delete from credential_usage u using (
      select t.account_id, t.credential_id from credential_usage t where t.last_used_at < $1 and not exists (
        select from ssh_credentials c where c.account_id = t.account_id and c.id = t.credential_id
      ) limit $2 for update skip locked
    ) old where u.account_id = old.account_id and u.credential_id = old.credential_id`,
};

/** Takes away decisions that are older than the operator wants to keep, every hour, a little at a time. */
export class DecisionsRetention implements OnModuleInit, OnModuleDestroy {
  private readonly logger = new Logger('BindDecisions');
  private timer: NodeJS.Timeout | undefined;
  private purging: Promise<void> | undefined;
  private stopped = false;

  constructor(
    private readonly pool: Pool,
    /** 0: for ever. */
    private readonly days: number,
  ) {}

  onModuleInit(): void {
    if (this.days > 0) this.schedule(Math.random() * FIRST_WITHIN_MS);
  }

  async onModuleDestroy(): Promise<void> {
    this.stopped = true;
    clearTimeout(this.timer);
    await this.purging;
  }

  /** Takes away what is too old at `now`. */
  async purge(now = new Date()): Promise<void> {
    if (this.days === 0) return;
    const before = new Date(now.getTime() - this.days * DAY_MS);
    await this.repeat(PURGE_DECISIONS, firstIdOf('bd', before));
    await this.repeat(PURGE_USAGE, before);
  }

  private schedule(delayMs: number): void {
    this.timer = setTimeout(() => {
      this.purging = this.purge()
        .catch((error: unknown) => this.logger.warn(`old decisions could not be deleted: ${error}`))
        .finally(() => {
          if (!this.stopped) this.schedule(HOUR_MS);
        });
    }, delayMs).unref();
  }

  private async repeat(statement: typeof PURGE_DECISIONS, limit: string | Date): Promise<void> {
    while (!this.stopped) {
      const { rowCount } = await queryNamed(this.pool, statement, [limit, BATCH_ROWS]);
      if ((rowCount ?? 0) < BATCH_ROWS) return;
      await new Promise((resolve) => setTimeout(resolve, PAUSE_MS));
    }
  }
}
