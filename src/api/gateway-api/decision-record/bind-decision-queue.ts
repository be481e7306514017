import { setTimeout as sleep } from 'node:timers/promises';
import { Inject, Injectable, Logger, type OnApplicationShutdown } from '@nestjs/common';
import type { Pool } from 'pg';
import { POOL, PostgresFailure, queryNamed, WRITE_LIMITS } from '../../../database/index.js';
import { messageOf } from '../../../kernel/error-message.js';
import type { Path } from '../../../kernel/fair-queue.js';
import { Places } from '../../../kernel/places.js';
import { Problem } from '../../../kernel/problem.js';
import { type BindTarget, sourceOf } from '../../../rules/index.js';
import type { BindDecision } from '../decisions/bind-decision.js';
import { toRequestForm } from '../decisions/bind-target-form.js';
import { GatewayPolicy } from '../decisions/gateway-policy.js';
import { MAX_RULES_PER_KEY } from '../decisions/key-access.js';
import { BindDecisionMetrics } from './bind-decision-metrics.js';

/** A decision that waits to be recorded, with its request. */
interface QueuedBindDecision {
  readonly id: string;
  readonly decidedAt: Date;
  readonly fingerprint: string;
  readonly target: BindTarget;
  readonly decision: BindDecision;
  /** Address of the gateway. */
  readonly gateway: string;
  /** Name of the gateway, if its token has one. */
  readonly gatewayName: string | undefined;
  /** Where the tunnel comes from, if the gateway sent it. */
  readonly source: string | undefined;
  /** What a second decision needs: position of the account's log, and the database's time in seconds since 1970. */
  readonly logPosition: number | null;
  readonly readAt: number | null;
  /** The key was on the operator's deny list. */
  readonly isKeyDenied: boolean;
  /** The only account that the gateway served. */
  readonly gatewayAccount: string | undefined;
}

const MAX_BATCH_DECISIONS = 1000;
/** How long a decision waits for others, so that one statement writes them all. */
const LINGER_MS = 50;
/** The delay does not grow: while the queue is full, no bind is permitted. */
const RETRY_MS = 500;
/** A shutdown must not wait for a database that is away. */
const ATTEMPTS_WHILE_CLOSING = 3;

/** Safe to repeat after a lost answer, since ids are made before the first attempt. Ordered rows prevent deadlocks. */
const WRITE = {
  name: 'write_bind_decisions',
  text: `with batch as materialized (
      select * from json_to_recordset($1::json) as b(account_id text, id text, decided_at timestamptz, credential_id text,
        credential_version int, owner_id text, fingerprint text, target jsonb, allowed boolean, reason text, rule text,
        gateway text, gateway_name text, source text, log_position bigint, rule_index int, read_at float8, key_denied boolean,
        gateway_account text, max_rules int)
    ), written as (
      insert into bind_decisions (account_id, id, decided_at, credential_id, credential_version, owner_id, fingerprint,
        target, allowed, reason, rule, gateway, gateway_name, source, log_position, rule_index, read_at, key_denied,
        gateway_account, max_rules)
      select b.account_id, b.id, b.decided_at, b.credential_id, b.credential_version, b.owner_id, b.fingerprint,
        b.target, b.allowed, b.reason, b.rule, b.gateway, b.gateway_name, b.source, b.log_position, b.rule_index,
        to_timestamp(b.read_at), b.key_denied, b.gateway_account, b.max_rules from batch b
      on conflict (account_id, id) do nothing
    )
    insert into credential_usage as u (account_id, credential_id, last_used_at)
    select b.account_id, b.credential_id, max(b.decided_at) from batch b where b.allowed
    group by 1, 2 order by 1, 2
    on conflict (account_id, credential_id)
    do update set last_used_at = excluded.last_used_at where u.last_used_at < excluded.last_used_at`,
};

/**
 * Records decisions after they are answered. A crash loses what is not written yet. The queue is bounded: when it is full,
 * or an account has its share of it, the service refuses to decide.
 */
@Injectable()
export class BindDecisionQueue implements OnApplicationShutdown {
  private readonly logger = new Logger('BindDecisions');
  private waiting: QueuedBindDecision[] = [];
  /** By account, and by the source of the client. */
  private readonly places: Places;
  private writing: Promise<void> | undefined;
  private closing = false;
  /** Ends the wait for further decisions. */
  private writeNow: () => void = () => undefined;

  constructor(
    @Inject(POOL) private readonly pool: Pool,
    @Inject(GatewayPolicy) { decisionsQueueLimit }: Pick<GatewayPolicy, 'decisionsQueueLimit'>,
    private readonly metrics: BindDecisionMetrics,
  ) {
    this.places = new Places([decisionsQueueLimit, 'half', 'half']);
  }

  /** The number of decisions that are not recorded yet. */
  get length(): number {
    return this.waiting.length;
  }

  /** Takes all of these decisions, or throws Problem 503 and takes none; the gateway must then refuse the tunnel. */
  add(decisions: readonly QueuedBindDecision[]): void {
    const counted = countByPath(decisions);
    const isFull = counted.some(({ path, count }) => this.places.fullAt(path, count) !== undefined);
    if (isFull || this.places.fullAt([], decisions.length) !== undefined) {
      this.metrics.queueFull();
      throw new Problem('overloaded', 'Too many decisions are waiting to be recorded. Try again shortly.');
    }
    for (const { path, count } of counted) this.places.take(path, count);
    this.waiting.push(...decisions);
    this.writing ??= this.writeAll();
  }

  /** Writes all waiting decisions. Nest calls it after the last request was answered and before the database closes. */
  async onApplicationShutdown(): Promise<void> {
    this.closing = true;
    this.writeNow();
    await this.writing;
  }

  private async writeAll(): Promise<void> {
    await this.linger();
    let batchSize = MAX_BATCH_DECISIONS;
    for (let failures = 0; this.waiting.length > 0; ) {
      const batch = this.waiting.slice(0, batchSize);
      try {
        await queryNamed(this.pool, WRITE, [JSON.stringify(batch.map(rowOf))], WRITE_LIMITS);
        this.drop(batch);
        if (failures > 0) this.logger.log('bind decisions are written again');
        [failures, batchSize] = [0, MAX_BATCH_DECISIONS];
      } catch (error) {
        failures += 1;
        batchSize = await this.afterFailure(error, batch, failures);
      }
    }
    // No await since the last look at `waiting`, so the next `add` starts a new run.
    this.writing = undefined;
  }

  /** @returns the size of the next batch. */
  private async afterFailure(error: unknown, batch: readonly QueuedBindDecision[], failures: number): Promise<number> {
    this.metrics.writeFailed();
    const message = messageOf(error);
    if (failures === 1) this.logger.error(`bind decisions could not be written and will be retried: ${message}`);
    if (!PostgresFailure.of(error).isAboutData) {
      if (this.closing && failures >= ATTEMPTS_WHILE_CLOSING) this.giveUp();
      else await sleep(RETRY_MS);
      return batch.length;
    }
    // One bad row must not block all others: halve the batch until the row is alone, then drop it.
    if (batch.length > 1) return Math.floor(batch.length / 2);
    this.drop(batch);
    this.logger.fatal(`bind decision ${batch[0]?.id} cannot be written and is lost: ${message}`);
    return MAX_BATCH_DECISIONS;
  }

  private giveUp(): void {
    this.logger.fatal(`${this.waiting.length} bind decisions could not be written before shutdown and are lost`);
    this.drop(this.waiting);
  }

  /** Removes these decisions, which are the first ones that wait. */
  private drop(decisions: readonly QueuedBindDecision[]): void {
    this.waiting = this.waiting.slice(decisions.length);
    for (const { path, count } of countByPath(decisions)) this.places.giveBack(path, count);
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

/** A key that the service does not know belongs to no account: all such keys count as one account. */
function countByPath(decisions: readonly QueuedBindDecision[]) {
  const counted = new Map<string, { readonly path: Path; count: number }>();
  for (const { decision, source } of decisions) {
    const path = [decision.grant?.accountId ?? '', ...(source === undefined ? [] : [sourceOf(source)])];
    const one = counted.get(path.join(' ')) ?? { path, count: 0 };
    counted.set(path.join(' '), one);
    one.count += 1;
  }
  return [...counted.values()];
}

const rowOf = ({ id, decidedAt, fingerprint, target, decision, ...origin }: QueuedBindDecision) => ({
  account_id: decision.grant?.accountId ?? '',
  id,
  decided_at: decidedAt,
  credential_id: decision.grant?.credentialId ?? '',
  credential_version: decision.grant?.version ?? null,
  owner_id: decision.grant?.ownerId ?? '',
  fingerprint,
  target: toRequestForm(target),
  allowed: decision.allowed,
  reason: decision.reason,
  rule: decision.matchedRule,
  gateway: origin.gateway,
  gateway_name: origin.gatewayName ?? null,
  source: origin.source ?? null,
  log_position: origin.logPosition,
  rule_index: decision.ruleIndex,
  read_at: origin.readAt,
  key_denied: origin.isKeyDenied,
  gateway_account: origin.gatewayAccount ?? null,
  max_rules: MAX_RULES_PER_KEY,
});
