import { Logger, type OnApplicationShutdown, type OnModuleDestroy, type OnModuleInit } from '@nestjs/common';
import type { Pool } from 'pg';
import { queryNamed } from '../../database/query.js';
import { firstIdOf } from '../../ids.js';

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

/** Of the last use of a deleted credential, however long decisions are kept: a decision under way may still be written. */
const USAGE_OF_DELETED_DAYS = 1;

/** When a credential was last used is kept for as long as there is a credential. */
const PURGE_USAGE = {
  name: 'purge_credential_usage',
  text: `delete from credential_usage u using (
      select t.account_id, t.credential_id from credential_usage t where t.last_used_at < $1 and not exists (
        select from ssh_credentials c where c.account_id = t.account_id and c.id = t.credential_id
      ) limit $2 for update skip locked
    ) old where u.account_id = old.account_id and u.credential_id = old.credential_id`,
};

/**
 * Takes away decisions that are older than the operator wants to keep, and the last use of credentials that are gone: every
 * hour, a little at a time.
 */
export class DecisionsRetention implements OnModuleInit, OnModuleDestroy, OnApplicationShutdown {
  private readonly logger = new Logger('BindDecisions');
  private timer: NodeJS.Timeout | undefined;
  private purging: Promise<void> | undefined;
  private stopped = false;

  constructor(
    private readonly pool: Pool,
    /** 0: for ever. */
    private readonly days: number,
    private readonly firstWithinMs = FIRST_WITHIN_MS,
  ) {}

  onModuleInit(): void {
    this.schedule(Math.random() * this.firstWithinMs);
  }

  /** Only says that it is to end: Nest calls this before HTTP stops, and requests must not wait for a purge to be refused. */
  onModuleDestroy(): void {
    this.stopped = true;
    clearTimeout(this.timer);
  }

  /** Before the database is closed. */
  async onApplicationShutdown(): Promise<void> {
    await this.purging;
  }

  /** Takes away what is too old at `now`. */
  async purge(now = new Date()): Promise<void> {
    const ago = (days: number): Date => new Date(now.getTime() - days * DAY_MS);
    if (this.days > 0) await this.repeat(PURGE_DECISIONS, firstIdOf('bd', ago(this.days)));
    await this.repeat(PURGE_USAGE, ago(USAGE_OF_DELETED_DAYS));
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
