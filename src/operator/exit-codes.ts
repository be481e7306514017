import { messageOf } from '../kernel/error-message.js';
import { CheckFailed, Interrupted, OperatorError, UsageError } from '../kernel/operator-error.js';
import { Problem } from '../kernel/problem.js';
import { visibleLines } from './print.js';

/** The exit codes of every command and of `npm start`. */
export const EXIT = {
  success: 0,
  checkFailed: 1,
  usage: 2,
  operator: 3,
  /** EX_SOFTWARE of sysexits.h. */
  internal: 70,
  /** What a shell reports after SIGINT: 128 + 2. */
  interrupted: 130,
} as const;

export const EXIT_MEANINGS: Readonly<Record<keyof typeof EXIT, string>> = {
  success: 'success',
  checkFailed: 'a check found something wrong',
  usage: 'a bad argument or setting, or the name of an account, resource, table or file that does not exist',
  operator: 'the operator must correct something first: the database, a file, a port in use',
  internal: 'an internal error; its stack is on stderr, or in the log of the service',
  interrupted: 'interrupted by SIGINT, SIGTERM or SIGHUP',
};

const EXIT_OF_CLASS: readonly (readonly [errors: abstract new (...values: never[]) => Error, exitCode: number])[] = [
  [CheckFailed, EXIT.checkFailed],
  [UsageError, EXIT.usage],
  [OperatorError, EXIT.operator],
  [Interrupted, EXIT.interrupted],
];

/** Why a process ends. Only an internal error shows its stack. */
interface Failure {
  readonly exitCode: number;
  readonly error: unknown;
}

/** `outageOf` says why the database failed. Only what used a database needs it, and only that has imported pg. */
export function failureOf(error: unknown, outageOf: OutageOf): Failure {
  const failure = forOperator(error, outageOf);
  const exitCode = EXIT_OF_CLASS.find(([errors]) => failure instanceof errors)?.[1] ?? EXIT.internal;
  return { exitCode, error: failure };
}

type OutageOf = (error: unknown) => string | undefined;
const NO_DATABASE: OutageOf = () => undefined;

/** Whether the error has its exit code by its class, whatever the database says. */
export const isOfOperator = (error: unknown): boolean => EXIT_OF_CLASS.some(([errors]) => error instanceof errors);

/** Reports on stderr why a command ends; returns the exit code. */
export function reportFailure(error: unknown, outageOf = NO_DATABASE): number {
  const failure = failureOf(error, outageOf);
  const text = failure.exitCode === EXIT.internal ? stackOf(failure.error) : messageOf(failure.error);
  if (text !== '') console.error(visibleLines(text));
  return failure.exitCode;
}

/**
 * Makes uncaught errors end with the code of an internal error. Node itself would end with 1, the code of a failed
 * check.
 */
export function exitOnUncaughtError(report: (error: Error) => void = (error) => console.error(stackOf(error))): void {
  process.removeAllListeners('uncaughtException');
  process.on('uncaughtException', (error) => {
    report(error);
    process.exit(EXIT.internal);
  });
}

/** Turns errors of the database, the system and the service into errors for the operator. A bug stays as it is. */
function forOperator(error: unknown, outageOf: OutageOf): unknown {
  if (error instanceof Problem) return ofProblem(error);
  const outage = outageOf(error);
  if (outage !== undefined) return new OperatorError(`the database cannot be used: ${outage}`);
  // The message names the port, file or pipe of the operator. A stack would only name our code.
  if (isSystemError(error)) return new OperatorError(`${error.message}${adviceOn(error)}`);
  return error;
}

function ofProblem(problem: Problem): Error {
  if (problem.problem === 'overloaded' || problem.problem === 'event_unreadable')
    return new OperatorError(problem.message);
  return problem.status < 500 ? new UsageError(problem.message) : problem;
}

const isSystemError = (error: unknown): error is NodeJS.ErrnoException => error instanceof Error && 'syscall' in error;

const ADVICE = new Map([
  ['EADDRINUSE', 'another program listens there; stop it or set PORT'],
  ['EADDRNOTAVAIL', 'this machine has no such address; set HOST to one that it has, or to 0.0.0.0 for all'],
  ['ENOTFOUND', 'no such host; set HOST to an address of this machine'],
]);

/** Only for listening: then a host name that is looked up can only be HOST. */
function adviceOn({ code = '', syscall = '' }: NodeJS.ErrnoException): string {
  const advice = ['bind', 'listen', 'getaddrinfo'].includes(syscall) ? ADVICE.get(code) : undefined;
  return advice === undefined ? '' : `: ${advice}`;
}

const stackOf = (error: unknown): string => (error instanceof Error ? (error.stack ?? error.message) : String(error));
