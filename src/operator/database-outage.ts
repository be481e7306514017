import { DatabaseError } from 'pg';
import { DatabaseUnreachable, POOLER_ADVICE, PostgresFailure, withAdvice } from '../database/index.js';

/**
 * SQLSTATE classes and codes of a server that could not serve: connection, read-only standby, authorization, database
 * dropped, deadlock, privileges, resources, locks, the administrator, the system, damaged data. Other codes are our fault.
 */
const SERVER_STATES = /^(08|25006|28|3D|40|42501|53|55|57|58|XX00[12])/;

/** For the end of a connection pg has neither a class nor a code, only these messages. */
const END_OF_CONNECTION =
  /^(Connection terminated|Client has encountered a connection error|Query read timeout|timeout e)/;

/** Why the database could not do its part; undefined for an error that the database is not to blame for. */
export function outageOf(error: unknown): string | undefined {
  // Node gives one error for each address of a host.
  const cause: unknown = error instanceof AggregateError ? error.errors[0] : error;
  if (PostgresFailure.of(cause).isLostStatement) return POOLER_ADVICE;
  return cause instanceof Error && isOutage(cause) ? withAdvice(cause, 'DATABASE_URL') : undefined;
}

function isOutage(error: NodeJS.ErrnoException): boolean {
  if (error instanceof DatabaseError) return SERVER_STATES.test(error.code ?? '');
  if (error instanceof DatabaseUnreachable || END_OF_CONNECTION.test(error.message)) return true;
  // No command connects to anything but the database. An EPIPE of stdout is no failure, and does not come here.
  return error.syscall === 'connect' || error.code === 'ECONNRESET' || error.code === 'EPIPE';
}
