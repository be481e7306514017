import type { PostgresFailure } from '../../database/failure.js';
import { Problem } from '../../problem.js';

/** Another writer appended to the stream first: load it and decide again. */
export class StreamConflict extends Error {
  override readonly name = 'StreamConflict';
}

/** A constraint of a table refuses the change. Most often another row holds a value that only one row may hold. */
export class ConstraintViolated extends Error {
  override readonly name = 'ConstraintViolated';
  constructor(readonly constraint: string) {
    super(`${constraint} is violated`);
  }
}

/** The error for a command whose own data made the statement fail. */
export function refusalOf(failure: PostgresFailure, alarm: (message: string) => void): unknown {
  if (failure.constraint === 'events_stream_version') return new StreamConflict('the stream has a newer version');
  // Positions come from the locked head. A taken one means that the head was lost, or that another program writes.
  if (failure.constraint === 'events_pk') {
    alarm('a log position was taken twice: log_heads and events disagree; stop writing and verify the log');
  } else if (failure.constraint !== undefined) return new ConstraintViolated(failure.constraint);
  return failure.cause;
}

/** The error for commands whose statement got no answer. `wasSent`: the database may have committed it. */
export function unavailable(failure: PostgresFailure, wasSent: boolean): unknown {
  if (!failure.isConnectionLoss && !failure.isDeadlock) return failure.cause;
  const message = wasSent
    ? 'The connection to the database was lost before it answered, so the outcome is unknown. Check the resource, or repeat the request with an Idempotency-Key.'
    : 'The database does not answer. Try again shortly.';
  return new Problem('overloaded', message);
}
