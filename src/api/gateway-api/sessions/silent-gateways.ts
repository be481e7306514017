import { Inject, Injectable, Logger, type OnModuleInit } from '@nestjs/common';
import type { Pool } from 'pg';
import { inTransaction, POOL, queryNamed, WRITE_LIMITS } from '../../../database/index.js';
import { messageOf } from '../../../kernel/error-message.js';
import { PeriodicTask } from '../../instance/periodic-task.js';
import { GatewayPolicy } from '../decisions/gateway-policy.js';
import { SessionEnds } from './session-ends.js';
import { LOSE_GATEWAY } from './session-statements.js';

const LOOK_EVERY_MS = 1_000;
/** Three heartbeats. */
const MAX_SILENCE = "interval '15 seconds'";
/** If nobody looked for this time, the service was away, and gateways could not report. */
const MAX_PAUSE = "interval '5 seconds'";
/** Less than MAX_PAUSE by far. */
const MAX_ROUND_MS = 2_000;

/** A service that no gateway reports to writes nothing. The first look after a pause begins anew, so the pause is no silence. */
const LOOK = {
  name: 'look_for_silent_gateways',
  text: `insert into gateway_watch as w (looked_at, watching_since)
    select clock_timestamp(), clock_timestamp() where exists (select from gateway_runs)
    on conflict (is_only) do update set looked_at = excluded.looked_at,
      watching_since = case when w.looked_at < excluded.looked_at - ${MAX_PAUSE} then excluded.looked_at else w.watching_since end`,
};

/** $1: how long gateways may take to come back after the service was away, in milliseconds. */
const IS_SILENT = `g.lost_at is null and g.heard_at < clock_timestamp() - ${MAX_SILENCE} and exists (select from gateway_watch w
  where g.heard_at > w.watching_since or w.watching_since < clock_timestamp() - $1 * interval '1 millisecond')`;

const SILENT = {
  name: 'silent_gateways',
  text: `select g.id from gateway_runs g where ${IS_SILENT} order by g.heard_at limit 100`,
};

const LOCK_SILENT = {
  name: 'lock_silent_gateway',
  text: `select extract(epoch from clock_timestamp() - g.heard_at)::float8 * 1000 as silent_ms
    from gateway_runs g where ${IS_SILENT} and g.id = $2 for update skip locked`,
};

/** Ends the sessions of gateways that no longer report. Silence counts only while the service was there to hear. */
@Injectable()
export class SilentGateways extends PeriodicTask implements OnModuleInit {
  private readonly logger = new Logger('SshGateway');
  private hasFailed = false;

  constructor(
    @Inject(POOL) private readonly pool: Pool,
    @Inject(GatewayPolicy) private readonly policy: Pick<GatewayPolicy, 'outageGraceMs'>,
  ) {
    super(LOOK_EVERY_MS);
  }

  onModuleInit(): void {
    this.schedule(0);
  }

  protected async round(): Promise<void> {
    await queryNamed(this.pool, LOOK, [], WRITE_LIMITS);
    const { rows } = await queryNamed<{ id: string }>(this.pool, SILENT, [this.policy.outageGraceMs]);
    // The next look must not be late: it would mean that the service was away.
    const deadline = performance.now() + MAX_ROUND_MS;
    let failure: unknown;
    for (const { id } of rows) {
      await this.endGateway(id, deadline).catch((error: unknown) => {
        failure = error;
      });
    }
    if (failure !== undefined) throw failure;
    this.hasFailed = false;
  }

  /** Goes on in the next round if the time is over. */
  private async endGateway(id: string, deadline: number): Promise<void> {
    while (!this.stopping.aborted && performance.now() < deadline && (await this.endPart(id)));
  }

  /** A database that is away fails each round: the first one is told. */
  protected failed(error: unknown): void {
    if (!this.hasFailed) this.logger.warn(`silent gateways could not be looked for: ${messageOf(error)}`);
    this.hasFailed = true;
  }

  /** Ends some sessions of a silent gateway, and marks it as lost after the last. False: nothing is left to do. */
  private endPart(id: string): Promise<boolean> {
    return inTransaction(this.pool, async (transaction) => {
      const values = [this.policy.outageGraceMs, id];
      const { rows } = await transaction.run<{ silent_ms: number }>(LOCK_SILENT, values);
      const [silent] = rows;
      if (silent === undefined) return false;
      const ends = new SessionEnds(transaction, id);
      const isMore = await ends.endUnreported(Number.MAX_SAFE_INTEGER, 'gateway_lost', silent.silent_ms);
      await ends.writePresence();
      await transaction.run(LOSE_GATEWAY, [id, !isMore]);
      if (!isMore) this.logger.warn(`gateway ${id} is silent: its sessions have ended as gateway_lost`);
      return isMore;
    });
  }
}
