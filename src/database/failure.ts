import { DatabaseError } from 'pg';

/**
 * SQLSTATE codes of a server that is temporarily unavailable: shutdown, crash of a backend, not yet ready, too many
 * connections, and a primary that became a standby.
 */
const SERVER_UNAVAILABLE = new Set(['57P01', '57P02', '57P03', '53300', '25006']);

/** No connection, or a connection that was lost before the server answered. */
export class DatabaseUnreachable extends Error {
  override readonly name = 'DatabaseUnreachable';
}

/** Classifies the error of a failed query for its caller. SQLSTATE codes: PostgreSQL documentation, appendix A. */
export class PostgresFailure {
  private constructor(
    readonly cause: unknown,
    private readonly sqlState: string | undefined,
    /** Name of the violated constraint, if there is one. */
    readonly constraint: string | undefined,
  ) {}

  static of(error: unknown): PostgresFailure {
    return error instanceof DatabaseError
      ? new PostgresFailure(error, error.code, error.constraint)
      : new PostgresFailure(error, undefined, undefined);
  }

  /** The sent data caused it: classes 21 (cardinality), 22 (data exception), 23 (integrity constraint). */
  get isAboutData(): boolean {
    return this.sqlState !== undefined && /^2[123]/.test(this.sqlState);
  }

  get isUniqueViolation(): boolean {
    return this.sqlState === '23505';
  }

  /** Deadlock or serialization failure: the server rolled back, and the caller can send the same statement again. */
  get isDeadlock(): boolean {
    return this.sqlState === '40P01' || this.sqlState === '40001';
  }

  /** A `nowait` or a lock_timeout met a lock of another session. */
  get isLockHeld(): boolean {
    return this.sqlState === '55P03';
  }

  /** The connection was lost, so it is unknown whether the statement was committed. */
  get isConnectionLoss(): boolean {
    if (this.sqlState === undefined) return this.cause instanceof DatabaseUnreachable;
    return this.sqlState.startsWith('08') || SERVER_UNAVAILABLE.has(this.sqlState);
  }
}
