import { setTimeout as sleep } from 'node:timers/promises';
import { Inject, Injectable, Logger, type OnModuleInit, Optional } from '@nestjs/common';
import type { Pool } from 'pg';
import { type NamedStatement, onlyRow, POOL, queryNamed, WRITE_LIMITS } from '../../../database/index.js';
import { RECORD_TABLES } from '../../../event-log/index.js';
import { PeriodicTask } from '../../instance/periodic-task.js';
import { GatewayPolicy } from '../decisions/gateway-policy.js';

const HOUR_MS = 3_600_000;
/**
 * The first round comes at a random time within this, so that instances do not all work at once, and not while they
 * start.
 */
const MAX_FIRST_DELAY_MS = HOUR_MS / 6;
const DAY_MS = 24 * HOUR_MS;
/** A pause between batches, so that a purge takes only a small part of the database's time. */
const PAUSE_MS = 100;

/** $1: a table of records; $2: older rows are deleted; null: none. */
const KEEP_PARTITIONS = { name: 'keep_partitions', text: 'select keep_partitions($1, $2) as deleted' };

const BATCH_ROWS = 1000;
const ACCOUNTS_AT_ONCE = 1000;
/** How long the last use of a deleted credential is kept, since a decision about it may still be in a queue. */
const DAYS_OF_DELETED = 1;

/** The accounts after $1, in the order of ids, that have a row of this table. */
const accountsThatHave = (name: string, table: string) => ({
  name,
  text: `select h.account_id as id from log_heads h where h.account_id > $1
      and (select t.credential_id from ${table} t where t.account_id = h.account_id limit 1) is not null
    order by h.account_id limit ${ACCOUNTS_AT_ONCE}`,
});

/**
 * Looks at the next rows after $3. A row is kept as long as its credential exists. The rows to delete are arrays, since
 * PostgreSQL then looks each of them up by its key.
 */
const purgeOf = (name: string, table: string, isUnused: string) => ({
  name,
  text: `with seen as (
      select t.credential_id, ${isUnused} and (select c.id from ssh_credentials c
        where c.account_id = $1 and c.id = t.credential_id) is null as is_old
      from ${table} t where t.account_id = $1 and t.credential_id > $3 order by t.credential_id limit ${BATCH_ROWS}),
    removed as (delete from ${table} t
      using unnest(array(select $1 from seen where is_old), array(select credential_id from seen where is_old)) as old(account_id, id)
      where t.account_id = old.account_id and t.credential_id = old.id and ${isUnused})
    select max(credential_id) as last, count(*)::int as seen from seen`,
});

/** What is kept of each credential, which tables have no trigger for: gateways report after its deletion too. */
const OF_CREDENTIALS = [
  {
    accounts: accountsThatHave('accounts_with_usage', 'credential_usage'),
    purge: purgeOf('purge_credential_usage', 'credential_usage', 't.last_used_at < $2'),
  },
  {
    accounts: accountsThatHave('accounts_with_presence', 'credential_presence'),
    purge: purgeOf('purge_credential_presence', 'credential_presence', '(t.sessions <= 0 and t.last_seen_at < $2)'),
  },
];

/** A gateway that was lost may send a report again for some time, and it must not count twice. */
const DAYS_OF_LOST_GATEWAYS = 1;
const PURGE_GATEWAYS = {
  name: 'purge_lost_gateways',
  text: `delete from gateway_runs where lost_at < $1`,
};

/**
 * Every hour, keeps the partitions of the records, which drops what is older than the operator's limit, and deletes the
 * last use of deleted credentials in small batches.
 */
@Injectable()
export class RecordRetention extends PeriodicTask implements OnModuleInit {
  private readonly logger = new Logger('Records');
  /** How long records are kept. 0 means without a limit. */
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
    this.logger.warn(`old records could not be deleted, or partitions for new ones not made: ${error}`);
  }

  /** Deletes the rows that are too old at `now`. */
  async purge(now = new Date()): Promise<void> {
    const ago = (days: number): Date => new Date(now.getTime() - days * DAY_MS);
    const failures: unknown[] = [];
    // A long read of one record must not keep the others.
    for (const record of RECORD_TABLES) {
      await this.keepPartitions(record, this.days > 0 ? ago(this.days) : null).catch((error) => failures.push(error));
    }
    for (const { accounts, purge } of OF_CREDENTIALS) await this.purgeAccounts(accounts, purge, ago(DAYS_OF_DELETED));
    await queryNamed(this.pool, PURGE_GATEWAYS, [ago(DAYS_OF_LOST_GATEWAYS)], WRITE_LIMITS);
    if (failures.length > 0) throw failures[0];
  }

  private async keepPartitions(record: string, oldest: Date | null): Promise<void> {
    for (let deleted = 1; deleted > 0 && !this.stopping.aborted; await sleep(deleted > 0 ? PAUSE_MS : 0)) {
      const { rows } = await queryNamed<{ deleted: number }>(
        this.pool,
        KEEP_PARTITIONS,
        [record, oldest],
        WRITE_LIMITS,
      );
      ({ deleted } = onlyRow(rows));
    }
  }

  private async purgeAccounts(accounts: NamedStatement, purge: NamedStatement, limit: Date): Promise<void> {
    for (let after = ''; !this.stopping.aborted; ) {
      const { rows } = await queryNamed<{ id: string }>(this.pool, accounts, [after]);
      for (const { id } of rows) await this.purgeAccount(purge, id, limit);
      if (rows.length < ACCOUNTS_AT_ONCE) return;
      after = rows.at(-1)?.id ?? after;
    }
  }

  private async purgeAccount(purge: NamedStatement, accountId: string, limit: Date): Promise<void> {
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
