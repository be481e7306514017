import { setTimeout as sleep } from 'node:timers/promises';
import type { Pool } from 'pg';
import { PostgresFailure } from '../../database/failure.js';
import { queryNamed } from '../../database/query.js';
import type { Append, Appended } from './append.js';
import { type Failed, recordedBefore, unavailable } from './append-failures.js';
import { type AppendStatement, appendStatement, type PreparedAppend, prepareAppend } from './append-statement.js';
import { Batcher, type BatcherLimits, DEFAULT_BATCHER_LIMITS, type Waiting } from './batcher.js';

type Command = Waiting<PreparedAppend, Appended>;
type Outcome = Failed | { readonly base: number };

const MAX_DEADLOCKS = 5;
/** Pauses before a batch is sent again after the connection was lost: six seconds in all, the usual length of a failover. */
const PAUSES_ON_LOST_CONNECTION_MS = [0, 50, 100, 200, 400, 800, 1600, 3000];

/**
 * Appends to the log. An append is durable when its promise resolves. A rejected append wrote nothing, unless the
 * connection was lost mid-statement; the error then says that the outcome is unknown.
 */
export class EventLog {
  private readonly batcher: Batcher<PreparedAppend, Appended>;

  constructor(
    private readonly pool: Pool,
    private readonly alarm: (message: string) => void,
    limits: BatcherLimits = DEFAULT_BATCHER_LIMITS,
  ) {
    this.batcher = new Batcher((accountId, batch) => this.send(accountId, batch, false), limits);
  }

  /** Throws StreamConflict, RightsTaken, ConstraintViolated, or Problem `overloaded` when the queue is full or the database is away. */
  append(append: Append): Promise<Appended> {
    return this.batcher.push(append.accountId, prepareAppend(append));
  }

  /** Sends a batch until every command has its answer. `wasSent`: an earlier attempt may have been committed. */
  private async send(accountId: string, batch: readonly Command[], wasSent: boolean): Promise<void> {
    const items = batch.map(({ item }) => item);
    const statement = appendStatement(accountId, items);
    const outcome = await this.attempt(statement, wasSent);
    if (outcome.base !== undefined) return acknowledge(batch, outcome.base);
    const { failure, wasSent: mayBeWritten } = outcome;
    if (failure?.isAboutData === false) {
      return batch.forEach(({ reject }) => void reject(unavailable(failure, mayBeWritten)));
    }
    // Nothing was written. After a change of rights, the commands that know the oldest rights are refused for certain.
    const isRefused = ({ item }: Command): boolean =>
      failure === undefined ? item.rightsPosition === statement.rightsPosition : batch.length === 1;
    for (const { item, resolve, reject } of batch.filter(isRefused)) {
      await recordedBefore(this.pool, accountId, item, outcome, this.alarm).then(resolve, reject);
    }
    // Halving finds the command whose data failed; the others are written without it.
    const others = batch.filter((command) => !isRefused(command));
    const middle = failure === undefined ? 0 : Math.ceil(others.length / 2);
    for (const part of [others.slice(0, middle), others.slice(middle)]) {
      if (part.length > 0) await this.send(accountId, part, mayBeWritten);
    }
  }

  /** Runs the statement, again after a deadlock or a lost connection. Event ids are fixed, so nothing is written twice. */
  private async attempt(statement: AppendStatement, wasSentBefore: boolean): Promise<Outcome> {
    let [wasSent, deadlocks, losses] = [wasSentBefore, 0, 0];
    for (;;) {
      try {
        const { rows } = await queryNamed<{ base: string }>(this.pool, statement, statement.values);
        const [row] = rows;
        return row === undefined ? { base: undefined, failure: undefined, wasSent } : { base: Number(row.base) };
      } catch (error) {
        const failure = PostgresFailure.of(error);
        if (failure.isDeadlock && deadlocks < MAX_DEADLOCKS) deadlocks += 1;
        else if (failure.isConnectionLoss && losses < PAUSES_ON_LOST_CONNECTION_MS.length) {
          wasSent = true;
          await sleep(PAUSES_ON_LOST_CONNECTION_MS[losses]);
          losses += 1;
        } else return { base: undefined, failure, wasSent };
      }
    }
  }
}

function acknowledge(batch: readonly Command[], base: number): void {
  let position = base;
  for (const { item, resolve } of batch) {
    position += item.eventTexts.length;
    resolve({ position, isDuplicate: false });
  }
}
