import { Inject, Injectable, Logger, type OnModuleInit } from '@nestjs/common';
import type { Pool } from 'pg';
import { POOL, queryNamed, WRITE_LIMITS } from '../../../database/index.js';
import { messageOf } from '../../../kernel/error-message.js';
import { PeriodicTask } from '../../instance/periodic-task.js';
import { BindDecisionMetrics } from '../decision-record/bind-decision-metrics.js';

const LOOK_EVERY_MS = 5_000;
/** Gateways ask a silent client three times in 45 s, and then end its session. What is open for longer is alive. */
const ALIVE = "started_at < now() - interval '60 seconds'";

/** A mark is news, so the row counts as a new one: see SessionChanges. That a mark goes is none. */
const MARK = {
  name: 'mark_doubled_sessions',
  text: `with twins as materialized (
      select account_id, credential_id from tunnel_sessions where ${ALIVE}
        group by account_id, credential_id having min(source) <> max(source)),
    marked as (
      update tunnel_sessions s set doubled = true, transaction_id = pg_current_xact_id() from twins t
        where s.account_id = t.account_id and s.credential_id = t.credential_id and not s.doubled and s.${ALIVE}),
    cleared as (
      update tunnel_sessions s set doubled = false where s.doubled and not exists (
        select from twins t where t.account_id = s.account_id and t.credential_id = s.credential_id))
    select count(*)::int as doubled from twins`,
};

/** Marks the sessions of keys that are live from two sources: a copied key, or an image with a key in it. */
@Injectable()
export class DoubledKeys extends PeriodicTask implements OnModuleInit {
  private readonly logger = new Logger('SshGateway');
  private hasFailed = false;
  /** At the last look. */
  private count: number | undefined;

  constructor(
    @Inject(POOL) private readonly pool: Pool,
    metrics: BindDecisionMetrics,
  ) {
    super(LOOK_EVERY_MS);
    metrics.watchDoubledKeys(() => this.count);
  }

  onModuleInit(): void {
    this.schedule(LOOK_EVERY_MS);
  }

  protected async round(): Promise<void> {
    const { rows } = await queryNamed<{ doubled: number }>(this.pool, MARK, [], WRITE_LIMITS);
    this.count = rows[0]?.doubled;
    this.hasFailed = false;
  }

  /** A database that is away fails each round: the first one is told. */
  protected failed(error: unknown): void {
    if (!this.hasFailed) this.logger.warn(`doubled keys could not be looked for: ${messageOf(error)}`);
    this.hasFailed = true;
    this.count = undefined;
  }
}
