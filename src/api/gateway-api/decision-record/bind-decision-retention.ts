import { setTimeout as sleep } from 'node:timers/promises';
import { Inject, Injectable, Logger, type OnModuleInit, Optional } from '@nestjs/common';
import type { Pool } from 'pg';
import { type NamedStatement, POOL, queryNamed, WRITE_LIMITS } from '../../../database/index.js';
import { firstIdOf } from '../../../kernel/ids.js';
import { PeriodicTask } from '../../instance/periodic-task.js';
import { GatewayPolicy } from '../decisions/gateway-policy.js';

const HOUR_MS = 3_600_000;
/**
 * The first purge comes at a random time within this, so that instances do not purge all at once, and not while they
 * start.
 */
const MAX_FIRST_DELAY_MS = HOUR_MS / 6;
const DAY_MS = 24 * HOUR_MS;
const BATCH_ROWS = 1000;
/** A pause between batches, so that a purge takes only a small part of the database's time. */
const PAUSE_MS = 100;

const ACCOUNTS_AT_ONCE = 1000;

/**
 * The accounts after $1, in the order of ids, that have a row of this look-up: an operator may spread accounts over
 * servers.
 */
const accountsThatHave = (name: string, row: string) => ({
  name,
  text: `select h.account_id as id from log_heads h where h.account_id > $1 and (${row} limit 1) is not null
    order by h.account_id limit ${ACCOUNTS_AT_ONCE}`,
});

const WITH_OLD_DECISIONS = accountsThatHave(
  'accounts_with_old_decisions',
  'select d.id from bind_decisions d where d.account_id = h.account_id and d.id < $2',
);

/** Deletes the next rows after $3. */
const PURGE_DECISIONS = {
  name: 'purge_bind_decisions',
  text: `with old as (
      select id from bind_decisions where account_id = $1 and id > $3 and id < $2 order by id limit ${BATCH_ROWS}),
    removed as (delete from bind_decisions where account_id = $1 and id > $3 and id <= (select max(id) from old))
    select max(id) as last, count(*)::int as seen from old`,
};

/** How long the last use of a deleted credential is kept, since a decision about it may still be in a queue. */
const USAGE_OF_DELETED_DAYS = 1;

const WITH_USAGE = accountsThatHave(
  'accounts_with_usage',
  'select t.credential_id from credential_usage t where t.account_id = h.account_id',
);

/**
 * Looks at the next rows after $3. The last use of a credential is kept as long as the credential exists. The rows to
 * delete are arrays, since PostgreSQL then looks each of them up by its key.
 */
const PURGE_USAGE = {
  name: 'purge_credential_usage',
  text: `with seen as (
      select t.credential_id, t.last_used_at < $2 and (select c.id from ssh_credentials c
        where c.account_id = $1 and c.id = t.credential_id) is null as is_old
      from credential_usage t where t.account_id = $1 and t.credential_id > $3 order by t.credential_id limit ${BATCH_ROWS}),
    removed as (delete from credential_usage u
      using unnest(array(select $1 from seen where is_old), array(select credential_id from seen where is_old)) as old(account_id, id)
      where u.account_id = old.account_id and u.credential_id = old.id and u.last_used_at < $2)
    select max(credential_id) as last, count(*)::int as seen from seen`,
};

/** Decisions about keys that no account has. */
const NO_ACCOUNT = '';

/**
 * Every hour, deletes the decisions that are older than the operator's limit and the last use of deleted credentials,
 * in small batches.
 */
@Injectable()
export class BindDecisionRetention extends PeriodicTask implements OnModuleInit {
  private readonly logger = new Logger('BindDecisions');
  /** How long decisions are kept. 0 means without a limit. */
  private readonly days: number;

  constructor(
    @Inject(POOL) private readonly pool: Pool,
    @Inject(GatewayPolicy) { decisionsRetentionDays }: Pick<GatewayPolicy, 'decisionsRetentionDays'>,
    @Optional() private readonly maxFirstDelayMs = MAX_FIRST_DELAY_MS,
  ) {
    super(HOUR_MS);
    this.days = decisionsRetentionDays;
  }

  onModuleInit(): void {
    this.schedule(Math.random() * this.maxFirstDelayMs);
  }

  protected round(): Promise<void> {
    return this.purge();
  }

  protected failed(error: unknown): void {
    this.logger.warn(`old bind decisions could not be deleted: ${error}`);
  }

  /** Deletes the rows that are too old at `now`. */
  async purge(now = new Date()): Promise<void> {
    const ago = (days: number): Date => new Date(now.getTime() - days * DAY_MS);
    if (this.days > 0) {
      const oldest = firstIdOf('bd', ago(this.days));
      await this.purgeAccount(PURGE_DECISIONS, NO_ACCOUNT, oldest);
      await this.purgeAccounts(WITH_OLD_DECISIONS, [oldest], PURGE_DECISIONS, oldest);
    }
    await this.purgeAccounts(WITH_USAGE, [], PURGE_USAGE, ago(USAGE_OF_DELETED_DAYS));
  }

  private async purgeAccounts(
    find: NamedStatement,
    values: readonly unknown[],
    purge: NamedStatement,
    limit: string | Date,
  ): Promise<void> {
    for (let after = ''; !this.stopping.aborted; ) {
      const { rows } = await queryNamed<{ id: string }>(this.pool, find, [after, ...values]);
      for (const { id } of rows) await this.purgeAccount(purge, id, limit);
      if (rows.length < ACCOUNTS_AT_ONCE) return;
      after = rows.at(-1)?.id ?? after;
    }
  }

  private async purgeAccount(purge: NamedStatement, accountId: string, limit: string | Date): Promise<void> {
    for (let after = ''; !this.stopping.aborted; ) {
      const values = [accountId, limit, after];
      const { rows } = await queryNamed<{ last: string; seen: number }>(this.pool, purge, values, WRITE_LIMITS);
      const [part] = rows;
      if (part === undefined || part.seen < BATCH_ROWS) return;
      after = part.last;
      await sleep(PAUSE_MS);
    }
  }
}
