import { Logger, type OnApplicationShutdown } from '@nestjs/common';
import type { Pool } from 'pg';
import type { BindTarget } from '../../bind-rules/acl.js';
import { PostgresFailure } from '../../database/failure.js';
import { queryNamed } from '../../database/query.js';
import { Problem } from '../../problem.js';
import type { GatewayMetrics } from '../gateway-metrics.js';
import type { Decision } from './decision.js';

/** One decision as it is recorded. */
export interface DecidedBind {
  readonly id: string;
  readonly decidedAt: Date;
  readonly fingerprint: string;
  readonly target: BindTarget;
  readonly decision: Decision;
  /** The gateway's address. */
  readonly gateway: string;
  /** The address of the gateway's client, if it told. */
  readonly source: string | undefined;
}

const BATCH_DECISIONS = 1000;
/** How long a decision waits for others to be written with it: a statement for each would cost more than the decisions. */
const LINGER_MS = 50;
const RETRY_MS = 500;
/** A stop does not wait for a database that is gone. */
const ATTEMPTS_WHILE_CLOSING = 3;

/** Repeated after a lost answer it writes nothing twice: ids are made before the first attempt. Rows in order, against deadlocks. */
const WRITE = {
  name: 'write_bind_decisions',
  text: `with batch as materialized (
      select * from json_to_recordset($1::json) as b(account_id text, id text, decided_at timestamptz, credential_id text,
        credential_version int, owner_id text, fingerprint text, target jsonb, allowed boolean, reason text, rule text,
        gateway text, source text)
    ), written as (
      insert into bind_decisions (account_id, id, decided_at, credential_id, credential_version, owner_id, fingerprint,
        target, allowed, reason, rule, gateway, source)
      select b.account_id, b.id, b.decided_at, b.credential_id, b.credential_version, b.owner_id, b.fingerprint,
        b.target, b.allowed, b.reason, b.rule, b.gateway, b.source from batch b
      on conflict (account_id, id) do nothing
    )
    insert into credential_usage as u (account_id, credential_id, last_used_at)
    select b.account_id, b.credential_id, max(b.decided_at) from batch b where b.allowed
    group by 1, 2 order by 1, 2
    on conflict (account_id, credential_id)
    do update set last_used_at = excluded.last_used_at where u.last_used_at < excluded.last_used_at`,
};

/**
 * Writes decisions behind the answers: a decision waits for no disk, and what a crash takes away is the last few hundredths of
 * a second of the record. Bounded: what cannot be recorded is not decided.
 */
export class BindDecisionQueue implements OnApplicationShutdown {
  private readonly logger = new Logger('BindDecisions');
  private waiting: DecidedBind[] = [];
  private writing: Promise<void> | undefined;
  private closing = false;
  /** Ends the wait for others to be written together with. */
  private writeNow: () => void = () => undefined;

  constructor(
    private readonly pool: Pool,
    private readonly most: number,
    private readonly metrics: Pick<GatewayMetrics, 'writeFailed' | 'queueFull'>,
  ) {}

  /** Decisions that are not written yet. */
  get length(): number {
    return this.waiting.length;
  }

  /** All of them, or none and Problem 503: the gateway must then refuse the tunnel. */
  add(decisions: readonly DecidedBind[]): void {
    if (this.waiting.length + decisions.length > this.most) {
      this.metrics.queueFull();
      throw new Problem('overloaded', 'Too many decisions are waiting to be recorded. Try again shortly.');
    }
    this.waiting.push(...decisions);
    this.writing ??= this.writeAll();
  }

  /** Writes what waits. Nest calls it when the last request has been answered, and before it closes the database. */
  async onApplicationShutdown(): Promise<void> {
    this.closing = true;
    this.writeNow();
    await this.writing;
  }

  private async writeAll(): Promise<void> {
    await this.linger();
    let batchSize = BATCH_DECISIONS;
    for (let failures = 0; this.waiting.length > 0; ) {
      const batch = this.waiting.slice(0, batchSize);
      try {
        await queryNamed(this.pool, WRITE, [JSON.stringify(batch.map(rowOf))]);
        this.waiting = this.waiting.slice(batch.length);
        [failures, batchSize] = [0, BATCH_DECISIONS];
      } catch (error) {
        failures += 1;
        batchSize = await this.afterFailure(error, batch, failures);
      }
    }
    // In the same turn in which nothing was left: what is added next starts anew.
    this.writing = undefined;
  }

  /** @returns how many to try next. */
  private async afterFailure(error: unknown, batch: readonly DecidedBind[], failures: number): Promise<number> {
    this.metrics.writeFailed();
    const message = error instanceof Error ? error.message : String(error);
    if (failures === 1) this.logger.error(`decisions could not be written, and are tried again: ${message}`);
    if (!PostgresFailure.of(error).isAboutData) {
      if (this.closing && failures >= ATTEMPTS_WHILE_CLOSING) this.giveUp();
      else await new Promise((resolve) => setTimeout(resolve, RETRY_MS));
      return batch.length;
    }
    // One row must not hold up all others for ever: halved until it stands alone, and left out.
    if (batch.length > 1) return Math.floor(batch.length / 2);
    this.waiting = this.waiting.slice(1);
    this.logger.fatal(`the decision ${batch[0]?.id} cannot be written and is lost: ${message}`);
    return BATCH_DECISIONS;
  }

  private giveUp(): void {
    this.logger.fatal(`${this.waiting.length} decisions could not be written before the stop, and are lost`);
    this.waiting = [];
  }

  private linger(): Promise<void> {
    if (this.closing) return Promise.resolve();
    return new Promise((resolve) => {
      const timer = setTimeout(resolve, LINGER_MS);
      this.writeNow = () => {
        clearTimeout(timer);
        resolve();
      };
    });
  }
}

const rowOf = ({ id, decidedAt, fingerprint, target, decision, gateway, source }: DecidedBind) => ({
  account_id: decision.grant?.accountId ?? '',
  id,
  decided_at: decidedAt,
  credential_id: decision.grant?.credentialId ?? '',
  credential_version: decision.grant?.version ?? null,
  owner_id: decision.grant?.ownerId ?? '',
  fingerprint,
  target: targetAsAsked(target),
  allowed: decision.allowed,
  reason: decision.reason,
  rule: decision.matchedRule,
  gateway,
  source: source ?? null,
});

/** In the form in which gateways ask, hosts in their canonical spelling. */
function targetAsAsked(target: BindTarget): object {
  if (target.kind === 'domain') return { domain: target.name };
  if (target.kind === 'address') return { address: `${target.host}:${target.port}` };
  return { label: { key: target.key, value: target.value } };
}
