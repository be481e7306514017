/** A command found something wrong and has said what: the exit code is 1 and nothing more is printed. */
export class Finding extends Error {
  override readonly name = 'Finding';
}
