/**
 * The errors that end a process of this service without being its fault. Each class has one exit code, in
 * `operator/exit-codes.ts`; an error of any other class is a bug, and is printed with its stack.
 */

/** The operator must put something right first. The message is written for them: what is wrong, and the way out. */
export class OperatorError extends Error {
  override name = 'OperatorError';
}

/** The command line or the settings ask for something that cannot be, such as an account that does not exist. */
export class UsageError extends Error {
  override name = 'UsageError';
}

/** A check found something wrong. The command has printed what it found, so there is no message. */
export class CheckFailed extends Error {
  override name = 'CheckFailed';
}

/** Each of these signals ends the work in good order. SIGHUP comes when the terminal is closed. */
export const STOP_SIGNALS: readonly NodeJS.Signals[] = ['SIGINT', 'SIGTERM', 'SIGHUP'];

/** A signal ended the work before it was done. */
export class Interrupted extends Error {
  override name = 'Interrupted';
}
