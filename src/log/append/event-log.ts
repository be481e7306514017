import { setTimeout as sleep } from 'node:timers/promises';
import type { Pool } from 'pg';
import { PostgresFailure } from '../../database/failure.js';
import { queryNamed } from '../../database/query.js';
import { pauseAfter } from '../../retry/retry.js';
import type { Append, Appended } from './append.js';
import { type Failed, recordedBefore, unavailable } from './append-failures.js';
import { type AppendRow, type AppendStatement, appendStatement, hasRefusedClaim } from './append-statement.js';
import { Batcher, type BatcherLimits, type BatchListener, DEFAULT_BATCHER_LIMITS, type Waiting } from './batcher.js';
import { type PreparedAppend, prepareAppend } from './prepared-append.js';

type Command = Waiting<PreparedAppend, Appended>;
type Outcome = Failed | { readonly base: number };
/** A batch whose connection was lost. */
type Lost = { readonly failure: PostgresFailure; readonly wasSent: boolean };

const MAX_DEADLOCKS = 5;
/** Pauses before a batch is sent again after the connection was lost. */
const PAUSES_MS = [0, 50, 100, 200, 400, 800];
/** Patroni's usual failover. */
const DEFAULT_WRITE_DEADLINE_MS = 20_000;
/** A commit may wait for a standby for a while. A server that is silent must leave time for another attempt. */
const MAX_ATTEMPT_MS = 10_000;

/**
 * Appends to the log. An append is durable when its promise resolves. A rejected append wrote nothing, unless the
 * connection was lost mid-statement; the error then says that the outcome is unknown.
 */
export class EventLog {
  private readonly batcher: Batcher<PreparedAppend, Appended>;

  constructor(
    private readonly pool: Pool,
    private readonly alarm: (message: string) => void,
    private readonly limits: BatcherLimits = DEFAULT_BATCHER_LIMITS,
    readonly deadlineMs = DEFAULT_WRITE_DEADLINE_MS,
  ) {
    this.batcher = new Batcher((accountId, batch) => this.send(accountId, batch), limits);
  }

  /** Whether further appends are refused for now. */
  get isFull(): boolean {
    return this.batcher.isFull;
  }

  /** Appends that wait to be sent, and how many may wait. */
  get queue(): { readonly waiting: number; readonly limit: number } {
    return { waiting: this.batcher.queued, limit: this.limits.queuedItems };
  }

  /** There is one listener. */
  onBatch(listener: BatchListener): void {
    this.batcher.onBatch = listener;
  }

  /**
   * Throws StreamConflict, RightsTaken, ClaimRefused or ConstraintViolated, or Problem `overloaded` when the queue is full or
   * the database is away.
   */
  append(append: Append): Promise<Appended> {
    return this.batcher.push(append.accountId, prepareAppend(append, performance.now() + this.deadlineMs));
  }

  /** Sends a batch until every command has its answer. `wasSent`: an earlier attempt may have been committed. */
  private async send(accountId: string, batch: readonly Command[], wasSent = false, losses = 0): Promise<void> {
    const items = batch.map(({ item }) => item);
    const statement = appendStatement(accountId, items);
    const outcome = await this.attempt(statement, deadlineOf(items), wasSent);
    if (outcome.base !== undefined) return acknowledge(batch, outcome.base);
    const { failure, wasSent: mayBeWritten } = outcome;
    if (failure?.isConnectionLoss) return this.sendAgain(accountId, batch, { failure, wasSent: mayBeWritten }, losses);
    if (failure?.isAboutData === false) {
      return batch.forEach(({ reject }) => void reject(unavailable(failure, mayBeWritten)));
    }
    // Nothing was written.
    const isRefused = ({ item }: Command): boolean =>
      failure === undefined ? isRefusedBy(statement, outcome, item) : batch.length === 1;
    for (const { item, resolve, reject } of batch.filter(isRefused)) {
      await recordedBefore(this.pool, accountId, item, outcome, this.alarm).then(resolve, reject);
    }
    // Halving finds the command whose data failed; the others are written without it.
    const others = batch.filter((command) => !isRefused(command));
    const middle = failure === undefined ? 0 : Math.ceil(others.length / 2);
    for (const part of [others.slice(0, middle), others.slice(middle)]) {
      if (part.length > 0) await this.send(accountId, part, mayBeWritten, losses);
    }
  }

  /**
   * Answers the commands whose deadline has come. Event ids are fixed, so the others are written once at the most. Not
   * `retry`, which has one deadline: each command has its own.
   */
  private async sendAgain(accountId: string, batch: readonly Command[], lost: Lost, losses: number): Promise<void> {
    const pauseMs = pauseAfter(losses + 1, PAUSES_MS);
    const resumesAt = performance.now() + pauseMs;
    const rest: Command[] = [];
    for (const command of batch) {
      if (command.item.deadline > resumesAt) rest.push(command);
      else command.reject(unavailable(lost.failure, lost.wasSent));
    }
    if (rest.length === 0) return;
    await sleep(pauseMs);
    await this.send(accountId, rest, lost.wasSent, losses + 1);
  }

  /** Runs the statement, again after a deadlock. */
  private async attempt(statement: AppendStatement, deadline: number, wasSentBefore: boolean): Promise<Outcome> {
    for (let deadlocks = 0; ; deadlocks += 1) {
      try {
        const limits = { deadlineMs: Math.min(deadline - performance.now(), MAX_ATTEMPT_MS), attempts: 1 };
        const { rows } = await queryNamed<AppendRow>(this.pool, statement, statement.values, limits);
        const base = rows[0]?.base ?? undefined;
        if (base !== undefined) return { base: Number(base) };
        const refusedClaims = new Set(rows.flatMap(({ refused }) => refused ?? []));
        return { base: undefined, failure: undefined, refusedClaims, wasSent: wasSentBefore };
      } catch (error) {
        const failure = PostgresFailure.of(error);
        if (failure.isDeadlock && deadlocks < MAX_DEADLOCKS) continue;
        return { base: undefined, failure, refusedClaims: NO_CLAIMS, wasSent: wasSentBefore || failure.mayBeCommitted };
      }
    }
  }
}

const NO_CLAIMS: ReadonlySet<string> = new Set();

/** After a change of rights, the commands that know the oldest rights are refused for certain. */
const isRefusedBy = (statement: AppendStatement, { refusedClaims }: Failed, item: PreparedAppend): boolean =>
  refusedClaims.size === 0 ? item.rightsPosition === statement.rightsPosition : hasRefusedClaim(item, refusedClaims);

/** The earliest one: a command must be answered at its own deadline, whatever else is in its batch. */
const deadlineOf = (writes: readonly PreparedAppend[]): number => Math.min(...writes.map(({ deadline }) => deadline));

function acknowledge(batch: readonly Command[], base: number): void {
  let position = base;
  for (const { item, resolve } of batch) {
    position += item.events.length;
    resolve({ position, isDuplicate: false });
  }
}
