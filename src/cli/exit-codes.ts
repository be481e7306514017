/** A command found something wrong and has said what: the exit code is 1 and nothing more is printed. */
export class CheckFailed extends Error {
  override readonly name = 'Finding';
}

/** A command was asked for something that is not there to be asked for: its message is printed, the exit code is 2. */
export class UsageError extends Error {
  override readonly name = 'Misuse';
}
