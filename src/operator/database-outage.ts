import { DatabaseError } from 'pg';
import { DatabaseUnreachable, POOLER_ADVICE, PostgresFailure, withAdvice } from '../database/index.js';

/**
 * SQLSTATE classes and codes for faults of the server: connection, read-only standby, authorization, dropped database,
 * deadlock, privileges, resources, locks, the administrator, the system, damaged data. Other codes mean a fault of
 * ours.
 */
const SERVER_STATES = /^(08|25006|28|3D|40|42501|53|55|57|58|XX00[12])/;

/** When a connection ends, pg throws an error with one of these messages, and without a class or code. */
const END_OF_CONNECTION =
  /^(Connection terminated|Client has encountered a connection error|Query read timeout|timeout e)/;

/** Why the database failed; undefined for an error that the database did not cause. */
export function outageOf(error: unknown): string | undefined {
  // Node gives one error for each address of a host.
  const cause: unknown = error instanceof AggregateError ? error.errors[0] : error;
  if (PostgresFailure.of(cause).isLostStatement) return POOLER_ADVICE;
  return cause instanceof Error && isOutage(cause) ? withAdvice(cause, 'DATABASE_URL') : undefined;
}

function isOutage(error: NodeJS.ErrnoException): boolean {
  if (error instanceof DatabaseError) return SERVER_STATES.test(error.code ?? '');
  if (error instanceof DatabaseUnreachable || END_OF_CONNECTION.test(error.message)) return true;
  // HTTP clients throw Unavailable, so these errors come from a connection to the database. An EPIPE of stdout is
  // handled elsewhere.
  return error.syscall === 'connect' || error.code === 'ECONNRESET' || error.code === 'EPIPE';
}
