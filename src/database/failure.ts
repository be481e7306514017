import { DatabaseError } from 'pg';

/**
 * SQLSTATE codes of a server that is unavailable for some time or is closing the connection: shutdown, crash of a
 * backend, database dropped, idle for too long, a transaction that took too long.
 */
const SERVER_UNAVAILABLE = /^(08|57P0[125]|25P0[34])/;
/**
 * SQLSTATE codes of such a server that did not execute the statement: not yet ready, too many connections, read-only,
 * no role or password that it takes, no such database.
 */
const SERVER_REFUSED = /^(57P03|53300|25006|28|3D000)/;

/** No connection, or a connection that was lost before the server answered. */
export class DatabaseUnreachable extends Error {
  override readonly name = 'DatabaseUnreachable';
  /** False if the statement was never sent. */
  readonly wasSent: boolean;

  constructor(message: string, { wasSent = false, ...options }: ErrorOptions & { readonly wasSent?: boolean } = {}) {
    super(message, options);
    this.wasSent = wasSent;
  }
}

/** Tells the operator what to do behind a pooler that knows no prepared statements. */
export const POOLER_ADVICE =
  'a pooler between the service and the database shares sessions and knows no named statements: set PREPARED_STATEMENTS=false';

/** Classifies the error of a failed query for its caller. SQLSTATE codes: PostgreSQL documentation, appendix A. */
export class PostgresFailure {
  private constructor(
    readonly cause: unknown,
    readonly sqlState: string | undefined,
    /** Name of the violated constraint, if there is one. */
    readonly constraint: string | undefined,
  ) {}

  static of(error: unknown): PostgresFailure {
    return error instanceof DatabaseError
      ? new PostgresFailure(error, error.code, error.constraint)
      : new PostgresFailure(error, undefined, undefined);
  }

  /** The sent data caused the failure: classes 21 (cardinality), 22 (data exception), 23 (integrity constraint). */
  get isAboutData(): boolean {
    return this.sqlState !== undefined && /^2[123]/.test(this.sqlState);
  }

  get isUniqueViolation(): boolean {
    return this.sqlState === '23505';
  }

  /**
   * Deadlock or serialization failure: the server has rolled back, and the caller can send the same statement again.
   */
  get isDeadlock(): boolean {
    return this.sqlState === '40P01' || this.sqlState === '40001';
  }

  get lacksPrivilege(): boolean {
    return this.sqlState === '42501';
  }

  get isDiskFull(): boolean {
    return this.sqlState === '53100';
  }

  /** The server or its operator ended the statement. */
  get isCancelled(): boolean {
    return this.sqlState === '57014';
  }

  /** A `nowait` or a lock_timeout met a lock of another session. */
  get isLockHeld(): boolean {
    return this.sqlState === '55P03';
  }

  /** The server itself reported the error. */
  get isFromServer(): boolean {
    return this.sqlState !== undefined;
  }

  /**
   * A named statement is missing, or exists already: a pooler gives each statement to another session of the server.
   */
  get isLostStatement(): boolean {
    return this.sqlState === '26000' || this.sqlState === '42P05';
  }

  /** There is no usable connection, or there is one no longer. */
  get isConnectionLoss(): boolean {
    if (this.sqlState === undefined) return this.cause instanceof DatabaseUnreachable;
    return SERVER_UNAVAILABLE.test(this.sqlState) || SERVER_REFUSED.test(this.sqlState);
  }

  /** It is unknown whether the statement was committed. */
  get mayBeCommitted(): boolean {
    if (this.cause instanceof DatabaseUnreachable) return this.cause.wasSent;
    return this.isConnectionLoss && !SERVER_REFUSED.test(this.sqlState ?? '');
  }
}
