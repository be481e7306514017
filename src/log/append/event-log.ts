import type { Pool } from 'pg';
import { PostgresFailure } from '../../database/failure.js';
import { queryNamed } from '../../database/query.js';
import { Problem } from '../../problem.js';
import type { NewEvent } from '../event.js';
import { type AppendStatement, appendStatement, type PreparedAppend, prepareAppend } from './append-statement.js';
import { Batcher, type BatcherLimits, DEFAULT_BATCHER_LIMITS, type Waiting } from './batcher.js';
import type { TableChange } from './table-change.js';

/** One command's effect on the log of one account. */
export interface Append {
  readonly accountId: string;
  /** At least one. */
  readonly events: readonly NewEvent[];
  readonly changes: readonly TableChange[];
}

export interface Appended {
  /** The account's log position of the command's last event. */
  readonly position: number;
  /** True when these events were in the log before: the command is a repetition and changed nothing now. */
  readonly isDuplicate: boolean;
}

/** Another writer appended to the stream first: load it and decide again. */
export class StreamConflict extends Error {
  override readonly name = 'StreamConflict';
}

/** A rule of a table refuses the change: most often, a value that a row must hold exclusively is held by another row. */
export class ConstraintViolated extends Error {
  override readonly name = 'ValueTaken';
  constructor(readonly constraint: string) {
    super(`${constraint} is violated`);
  }
}

type Command = Waiting<PreparedAppend, Appended>;

const RETRIES_ON_DEADLOCK = 5;
/** Pauses before a batch is sent again after the connection was lost, about six seconds in all: a failover's usual length. */
const PAUSES_ON_LOST_CONNECTION_MS = [0, 50, 100, 200, 400, 800, 1600, 3000];

/**
 * Appends to the log. Each append is durable when its promise resolves. It has left no trace when it rejects, but for one
 * case that its message names: the database went away with the statement and did not come back to tell.
 */
export class EventLog {
  private readonly batcher: Batcher<PreparedAppend, Appended>;

  constructor(
    private readonly pool: Pool,
    private readonly alarm: (message: string) => void,
    limits: BatcherLimits = DEFAULT_BATCHER_LIMITS,
  ) {
    this.batcher = new Batcher((accountId, batch) => this.sendBatch(accountId, batch, false), limits);
  }

  /** Throws StreamConflict, ConstraintViolated, or Problem `overloaded` when the queue is full or the database stays out of reach. */
  append({ accountId, events, changes }: Append): Promise<Appended> {
    return this.batcher.push(accountId, prepareAppend(events, changes));
  }

  /** The account's newest position; 0 for an account without a log. */
  async headPosition(accountId: string): Promise<number> {
    const { rows } = await queryNamed<{ size: string }>(this.pool, HEAD_POSITION, [accountId]);
    return Number(rows[0]?.size ?? 0);
  }

  /** Sends a batch until every command of it has its answer. `wasSent`: an earlier attempt may have been committed. */
  private async sendBatch(accountId: string, batch: readonly Command[], wasSent: boolean): Promise<void> {
    const outcome = await this.attempt(
      appendStatement(
        accountId,
        batch.map((c) => c.item),
      ),
      wasSent,
    );
    if (outcome.base !== undefined) return acknowledge(batch, outcome.base);
    const [only] = batch;
    if (!outcome.failure.isAboutData) return refuse(batch, unavailable(outcome.failure, outcome.wasSent));
    if (batch.length === 1 && only !== undefined) return this.settleFailed(accountId, only, outcome);
    // The statement was rolled back whole. Halving finds the offender; everyone else is written as if it had not been there.
    const middle = Math.ceil(batch.length / 2);
    await this.sendBatch(accountId, batch.slice(0, middle), outcome.wasSent);
    await this.sendBatch(accountId, batch.slice(middle), outcome.wasSent);
  }

  /** Runs the statement, again after a deadlock or a lost connection: event ids were fixed before, so nothing is written twice. */
  private async attempt(statement: AppendStatement, wasSentBefore: boolean): Promise<Outcome> {
    let wasSent = wasSentBefore;
    let deadlocks = 0;
    let losses = 0;
    for (;;) {
      try {
        const { rows } = await queryNamed<{ base: string }>(this.pool, statement, statement.values);
        return { base: Number(rows[0]?.base), wasSent };
      } catch (error) {
        const failure = PostgresFailure.of(error);
        if (failure.isDeadlock && deadlocks < RETRIES_ON_DEADLOCK) deadlocks += 1;
        else if (failure.isConnectionLoss && losses < PAUSES_ON_LOST_CONNECTION_MS.length) {
          wasSent = true;
          await pause(PAUSES_ON_LOST_CONNECTION_MS[losses] ?? 0);
          losses += 1;
        } else return { base: undefined, failure, wasSent };
      }
    }
  }

  private async settleFailed(accountId: string, command: Command, { failure, wasSent }: Failed): Promise<void> {
    try {
      const found = failure.isUniqueViolation ? await this.recorded(accountId, command.item) : undefined;
      // With a lost connection behind us the event may be our own first attempt; under an Idempotency-Key it may also be
      // that of another request, which was acknowledged elsewhere with another thing.
      if (found !== undefined) command.resolve({ position: found.position, isDuplicate: !(wasSent && found.isOurs) });
      else command.reject(this.explain(failure));
    } catch (error) {
      command.reject(unavailable(PostgresFailure.of(error), wasSent));
    }
  }

  /** Where a command stands in the log already, and whether it was this very command; undefined when it does not. */
  private async recorded(accountId: string, { eventIds, metadataText }: PreparedAppend) {
    const { rows } = await queryNamed<{ position: string; metadata: string }>(this.pool, NEWEST_OF_EVENTS, [
      accountId,
      eventIds,
    ]);
    const [row] = rows;
    return row === undefined ? undefined : { position: Number(row.position), isOurs: row.metadata === metadataText };
  }

  private explain(failure: PostgresFailure): unknown {
    if (failure.constraint === 'events_stream_version') return new StreamConflict('the stream has a newer version');
    if (failure.constraint === 'events_pk') {
      // Positions come from the locked head, so this means that someone else writes to the tables, or that the head was lost.
      this.alarm('a log position was taken twice: log_heads and events disagree; stop writing and verify the log');
      return failure.cause;
    }
    if (failure.constraint !== undefined) return new ConstraintViolated(failure.constraint);
    return failure.cause;
  }
}

interface Failed {
  readonly base: undefined;
  readonly failure: PostgresFailure;
  readonly wasSent: boolean;
}
type Outcome = Failed | { readonly base: number; readonly wasSent: boolean };

const HEAD_POSITION = { name: 'head_position', text: 'select size from log_heads where account_id = $1' };
const NEWEST_OF_EVENTS = {
  name: 'newest_of_events',
  text: `select position, metadata from events where account_id = $1 and event_id = any($2::uuid[])
    order by position desc limit 1`,
};

const pause = (ms: number): Promise<void> => new Promise((resolve) => setTimeout(resolve, ms));

function acknowledge(batch: readonly Command[], base: number): void {
  let position = base;
  for (const command of batch) {
    position += command.item.eventTexts.length;
    command.resolve({ position, isDuplicate: false });
  }
}

function refuse(batch: readonly Command[], error: unknown): void {
  for (const command of batch) command.reject(error);
}

const unavailable = (failure: PostgresFailure, wasSent: boolean): unknown => {
  if (!failure.isConnectionLoss && !failure.isDeadlock) return failure.cause;
  return new Problem(
    'overloaded',
    wasSent
      ? 'The database went away before it answered: whether this was written is not known. Look first, or repeat it with an Idempotency-Key.'
      : 'The database does not answer. Try again shortly.',
  );
};
