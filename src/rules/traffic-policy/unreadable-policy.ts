import { quoted } from '../../kernel/problem.js';

/** A traffic policy that this library does not apply. `message` is a sentence that begins with the place. */
export class UnreadablePolicy extends Error {
  /** @param place such as `on_tcp_connect[2].actions[0].type`; `predicate` completes the sentence. */
  constructor(
    readonly place: string,
    predicate: string,
  ) {
    super(`${place} ${predicate}`);
    this.name = 'UnreadablePolicy';
  }
}

const MAX_MESSAGE = 200;
/** What another library says, which may quote all of a policy. */
export const shortened = (message: string): string =>
  message.length > MAX_MESSAGE ? `${message.slice(0, MAX_MESSAGE)}...` : message;

const MAX_NAME = 48;
const MAX_WORD = 15;

/**
 * The name of an action, a field, a variable or a function in quotes. Unlike `quoted` it shows long names that consist of
 * short words, such as forward-internal, since no secret does.
 */
export function quotedName(name: string): string {
  if (name.length > MAX_NAME) return quoted(name);
  const words = name.split(/[-_.]|(?=[A-Z])/);
  const isName = words.every((word) => /^[A-Za-z]+$/.test(word) && word.length <= MAX_WORD);
  return isName ? `'${name}'` : quoted(name);
}
