import type { Pool } from 'pg';
import { durableLimits, durably, PostgresFailure, queryNamed } from '../../database/index.js';
import { Problem } from '../../kernel/problem.js';
import type { Appended } from './append.js';
import { CLAIMS_CONSTRAINT } from './append-statement.js';
import type { PreparedAppend } from './prepared-append.js';

/** Another writer appended to the stream first. The caller must load it and decide again. */
export class StreamConflict extends Error {
  override readonly name = 'StreamConflict';
}

/**
 * An event that may take rights came between authentication and append. The caller must authenticate and decide again.
 */
export class RightsTaken extends Error {
  override readonly name = 'RightsTaken';
}

/** A constraint of a table refuses the change. Most often another row holds a value that only one row may hold. */
export class ConstraintViolated extends Error {
  override readonly name: string = 'ConstraintViolated';
  constructor(readonly constraint: string) {
    super(`${constraint} is violated`);
  }
}

/** A row has a value that belongs to another account: see `ClaimedColumn`. */
export class ClaimRefused extends ConstraintViolated {
  override readonly name = 'ClaimRefused';
  constructor() {
    super(CLAIMS_CONSTRAINT);
  }
}

/** Why a statement was not acknowledged. */
export type Refusal =
  /** Rights were taken after one of the commands was decided. */
  | { readonly kind: 'rightsTaken' }
  /** Other accounts have these claims. */
  | { readonly kind: 'claimsRefused'; readonly claims: ReadonlySet<string> }
  | { readonly kind: 'failed'; readonly failure: PostgresFailure };

/** A refused command. `mayBeWritten` says that an earlier attempt may have been committed. */
export interface RefusedAppend {
  readonly accountId: string;
  readonly append: PreparedAppend;
  readonly mayBeWritten: boolean;
}

/** $2 has event ids. The statement is durable, because it must not acknowledge an event that only this server has. */
const NEWEST_OF_EVENTS = durably(
  'newest_of_events',
  `select position, metadata from events where account_id = $1 and event_id = any($2::uuid[])
    order by position desc limit 1`,
);

/** Finds the events of a refused command in the log. Throws the reason of the refusal if they are not there. */
export async function recordedBefore(
  pool: Pool,
  refused: RefusedAppend,
  refusal: Refusal,
  alarm: (message: string) => void,
): Promise<Appended> {
  // An attempt whose answer was lost may have been committed before the rights or the claim were taken.
  const mayBeRecorded = refusal.kind === 'failed' ? refusal.failure.isUniqueViolation : refused.mayBeWritten;
  const found = mayBeRecorded ? await findRecorded(pool, refused) : undefined;
  if (found !== undefined) return found;
  switch (refusal.kind) {
    case 'rightsTaken':
      throw new RightsTaken('rights were taken after the decision');
    case 'claimsRefused':
      throw new ClaimRefused();
    case 'failed':
      throw errorOf(refusal.failure, refused.append, alarm);
  }
}

async function findRecorded(pool: Pool, refused: RefusedAppend): Promise<Appended | undefined> {
  const { eventIds, metadataText, deadline } = refused.append;
  const values = [refused.accountId, eventIds];
  const { rows } = await queryNamed<{ position: string; metadata: string }>(
    pool,
    NEWEST_OF_EVENTS,
    values,
    durableLimits(deadline),
  ).catch((error) => {
    // The event may be in the log, whether or not this process sent it.
    throw unavailable(PostgresFailure.of(error), true);
  });
  const [found] = rows;
  if (found === undefined) return undefined;
  // After a lost connection the event may be our own first attempt. Under an Idempotency-Key it may also be the event
  // of another request, which was acknowledged elsewhere.
  return { position: Number(found.position), isDuplicate: !(refused.mayBeWritten && found.metadata === metadataText) };
}

function errorOf(failure: PostgresFailure, { rows }: PreparedAppend, alarm: (message: string) => void): unknown {
  // PostgreSQL may insert the row of a new entity before its event.
  const ofStream = ['events_stream_version', ...rows.map(({ table }) => `${table.name}_pk`)];
  if (failure.constraint !== undefined && ofStream.includes(failure.constraint)) {
    return new StreamConflict('the stream has a newer version');
  }
  if (failure.constraint === CLAIMS_CONSTRAINT) return new ClaimRefused();
  // Positions come from the locked head. If one is taken, the head was lost or another program writes.
  if (failure.constraint === 'events_pk') {
    alarm('a log position was taken twice: log_heads and events disagree; stop writing and verify the log');
  } else if (failure.constraint !== undefined) return new ConstraintViolated(failure.constraint);
  return failure.cause;
}

/**
 * The error for commands whose statement got no answer. `mayBeWritten` says that the database may have committed it.
 */
export function unavailable(failure: PostgresFailure, mayBeWritten: boolean): unknown {
  if (!failure.isConnectionLoss && !failure.isDeadlock) return failure.cause;
  const message = mayBeWritten
    ? 'The connection to the database was lost before it answered, so the outcome is unknown. Check the resource, or repeat the request with an Idempotency-Key.'
    : 'The database does not answer. Try again shortly.';
  return Object.assign(new Problem('overloaded', message), { cause: failure.cause });
}
