import { setTimeout as sleep } from 'node:timers/promises';
import type { Pool } from 'pg';
import { PostgresFailure, queryNamed } from '../../database/index.js';
import { pauseAfter } from '../../kernel/network/retry.js';
import type { Append, Appended } from './append.js';
import { type Refusal, recordedBefore, unavailable } from './append-failures.js';
import {
  type AppendRow,
  type AppendStatement,
  appendStatement,
  CLAIMS_CONSTRAINT,
  hasRefusedClaim,
} from './append-statement.js';
import { Batcher, type BatcherLimits, type BatchListener, DEFAULT_BATCHER_LIMITS, type Waiting } from './batcher.js';
import { type PreparedAppend, prepareAppend } from './prepared-append.js';

type Command = Waiting<PreparedAppend, Appended>;
/** `base` is the size of the log before the batch. */
type Outcome = { readonly kind: 'written'; readonly base: number } | Refusal;
type Failed = Extract<Refusal, { kind: 'failed' }>;

interface Batch {
  readonly accountId: string;
  readonly commands: readonly Command[];
  /** An earlier attempt may have been committed. */
  readonly mayBeWritten: boolean;
  /** How often its connection was lost. */
  readonly losses: number;
}

const MAX_LOST_RACES = 5;
/** Pauses before a batch is sent again after the connection was lost. */
const PAUSES_MS = [0, 50, 100, 200, 400, 800];
/** A failover of Patroni usually takes less time than this. */
const DEFAULT_WRITE_DEADLINE_MS = 20_000;
/** A commit may wait for a standby. With a silent server there must be time left for another attempt. */
const MAX_ATTEMPT_MS = 10_000;

/**
 * Appends to the log. An append is durable when its promise resolves. A rejected append wrote nothing, unless the
 * connection was lost during the statement: the error then says that the outcome is unknown.
 */
export class EventLog {
  private readonly batcher: Batcher<PreparedAppend, Appended>;
  private readonly limits: BatcherLimits;

  constructor(
    private readonly pool: Pool,
    private readonly alarm: (message: string) => void,
    /** Absent: the default of each limit. */
    limits: Partial<BatcherLimits> = {},
    readonly deadlineMs = DEFAULT_WRITE_DEADLINE_MS,
  ) {
    this.limits = { ...DEFAULT_BATCHER_LIMITS, ...limits };
    this.batcher = new Batcher(
      (accountId, commands) => this.send({ accountId, commands, mayBeWritten: false, losses: 0 }),
      this.limits,
    );
  }

  /** Whether further appends are refused for now. */
  get isFull(): boolean {
    return this.batcher.isFull;
  }

  /** Appends that wait to be sent, and how many may wait. */
  get queue(): { readonly waiting: number; readonly limit: number } {
    return { waiting: this.batcher.queued, limit: this.limits.queuedItems };
  }

  /** Sets the listener. There is only one. */
  onBatch(listener: BatchListener): void {
    this.batcher.onBatch = listener;
  }

  /**
   * Appends the events of one command. Throws StreamConflict, RightsTaken, ClaimRefused or ConstraintViolated, or
   * Problem `overloaded` when the queue is full or the database is not reachable.
   */
  append(append: Append): Promise<Appended> {
    return this.batcher.push(append.accountId, prepareAppend(append, performance.now() + this.deadlineMs));
  }

  /** Sends a batch until every command has its answer. */
  private async send(batch: Batch): Promise<void> {
    const { accountId, commands, mayBeWritten } = batch;
    const items = commands.map(({ item }) => item);
    const statement = appendStatement(accountId, items);
    const outcome = await this.attempt(statement, deadlineOf(items));
    switch (outcome.kind) {
      case 'written':
        return acknowledge(commands, outcome.base);
      case 'rightsTaken':
        // Only the commands that were decided with the oldest rights are surely refused.
        return this.refuse(batch, outcome, (item) => item.rightsPosition === statement.rightsPosition);
      case 'claimsRefused':
        return this.refuse(batch, outcome, (item) => hasRefusedClaim(item, outcome.claims));
      case 'failed':
        return this.afterFailure({ ...batch, mayBeWritten: mayBeWritten || outcome.failure.mayBeCommitted }, outcome);
    }
  }

  /** Rejects the commands that are refused, and sends the others again. */
  private async refuse(batch: Batch, refusal: Refusal, isRefused: (item: PreparedAppend) => boolean): Promise<void> {
    for (const { item, resolve, reject } of batch.commands.filter((command) => isRefused(command.item))) {
      await recordedBefore(this.pool, { ...batch, append: item }, refusal, this.alarm).then(resolve, reject);
    }
    const others = batch.commands.filter(({ item }) => !isRefused(item));
    if (others.length > 0) await this.send({ ...batch, commands: others });
  }

  private async afterFailure(batch: Batch, failed: Failed): Promise<void> {
    const { commands, mayBeWritten } = batch;
    const { failure } = failed;
    if (failure.isConnectionLoss) return this.sendAgain(batch, failure);
    if (!failure.isAboutData) return commands.forEach(({ reject }) => void reject(unavailable(failure, mayBeWritten)));
    // Nothing was written. Halving the batch finds the command that failed, and the other commands are written without
    // it.
    if (commands.length === 1) return this.refuse(batch, failed, () => true);
    const middle = Math.ceil(commands.length / 2);
    await this.send({ ...batch, commands: commands.slice(0, middle) });
    await this.send({ ...batch, commands: commands.slice(middle) });
  }

  /**
   * Rejects the commands whose deadline has come, and sends the others again. Their event ids are fixed, so they are
   * written only once. It does not use `retry`, because each command has its own deadline.
   */
  private async sendAgain(batch: Batch, failure: PostgresFailure): Promise<void> {
    const losses = batch.losses + 1;
    const pauseMs = pauseAfter(losses, PAUSES_MS);
    const resumesAt = performance.now() + pauseMs;
    const rest: Command[] = [];
    for (const command of batch.commands) {
      if (command.item.deadline > resumesAt) rest.push(command);
      else command.reject(unavailable(failure, batch.mayBeWritten));
    }
    if (rest.length === 0) return;
    await sleep(pauseMs);
    await this.send({ ...batch, commands: rest, losses });
  }

  /**
   * Runs the statement, and repeats it after a deadlock. It repeats it also if another account has just claimed a value:
   * the statement sees that claim then, and may have a right beside it.
   */
  private async attempt(statement: AppendStatement, deadline: number): Promise<Outcome> {
    for (let races = 0; ; races += 1) {
      try {
        const limits = { deadlineMs: Math.min(deadline - performance.now(), MAX_ATTEMPT_MS), attempts: 1 };
        const { rows } = await queryNamed<AppendRow>(this.pool, statement, statement.values, limits);
        return outcomeOf(rows);
      } catch (error) {
        const failure = PostgresFailure.of(error);
        const isRace = failure.isDeadlock || failure.constraint === CLAIMS_CONSTRAINT;
        if (isRace && races < MAX_LOST_RACES) continue;
        return { kind: 'failed', failure };
      }
    }
  }
}

function outcomeOf(rows: readonly AppendRow[]): Outcome {
  const base = rows[0]?.base ?? undefined;
  if (base !== undefined) return { kind: 'written', base: Number(base) };
  const claims = new Set(rows.flatMap(({ refused }) => refused ?? []));
  return claims.size > 0 ? { kind: 'claimsRefused', claims } : { kind: 'rightsTaken' };
}

/** The earliest deadline: each command must be answered at its own deadline, whatever else is in its batch. */
const deadlineOf = (writes: readonly PreparedAppend[]): number => Math.min(...writes.map(({ deadline }) => deadline));

function acknowledge(batch: readonly Command[], base: number): void {
  let position = base;
  for (const { item, resolve } of batch) {
    position += item.events.length;
    resolve({ position, isDuplicate: false });
  }
}
