import { DatabaseError } from 'pg';

/**
 * A server that cannot serve now, but will again or elsewhere: shutdown, crash of a backend, not yet ready, too many
 * connections, and a primary that has become a standby.
 */
const SERVER_GOES_AWAY = new Set(['57P01', '57P02', '57P03', '53300', '25006']);

/** No connection, or one that was lost before the server answered. */
export class DatabaseUnreachable extends Error {
  override readonly name = 'DatabaseUnreachable';
}

/** What a failed query means for the one who sent it. SQLSTATE codes: PostgreSQL documentation, appendix A. */
export class PostgresFailure {
  private constructor(
    readonly cause: unknown,
    private readonly sqlState: string | undefined,
    /** Name of the violated constraint, where one is. */
    readonly constraint: string | undefined,
  ) {}

  static of(error: unknown): PostgresFailure {
    return error instanceof DatabaseError
      ? new PostgresFailure(error, error.code, error.constraint)
      : new PostgresFailure(error, undefined, undefined);
  }

  /** Something in the data sent: classes 21 (cardinality), 22 (data exception), 23 (integrity constraint). */
  get isAboutData(): boolean {
    return this.sqlState !== undefined && /^2[123]/.test(this.sqlState);
  }

  get isUniqueViolation(): boolean {
    return this.sqlState === '23505';
  }

  /** Deadlock or serialization failure: rolled back by the server, to be sent again as it was. */
  get isDeadlock(): boolean {
    return this.sqlState === '40P01' || this.sqlState === '40001';
  }

  /** A `nowait` or a lock_timeout met a lock of somebody else's. */
  get isLockHeld(): boolean {
    return this.sqlState === '55P03';
  }

  /** No answer: whether the statement was committed is not known. */
  get isConnectionLoss(): boolean {
    if (this.sqlState === undefined) return this.cause instanceof DatabaseUnreachable;
    return this.sqlState.startsWith('08') || SERVER_GOES_AWAY.has(this.sqlState);
  }
}
