import { type Abstract, Inject, type Type } from '@nestjs/common';
import { CommandHandler } from '@nestjs/cqrs';
import type { Changed } from './changes.js';

type Tokens<Parts extends unknown[]> = { [Index in keyof Parts]: Type<Parts[Index]> | Abstract<Parts[Index]> };

/** The handler of a command: a function of the command and of the providers that it needs. */
export function handlerOf<Data extends object, Parts extends unknown[], State>(
  command: abstract new (...data: never[]) => Data,
  needs: readonly [...Tokens<Parts>],
  run: (data: Data, ...parts: Parts) => Promise<Changed<State>>,
): Type {
  @CommandHandler(command as unknown as Type<Data>)
  class Handler {
    private readonly parts: Parts;

    constructor(...parts: Parts) {
      this.parts = parts;
    }

    execute(data: Data): Promise<Changed<State>> {
      return run(data, ...this.parts);
    }
  }
  for (const [n, token] of needs.entries()) Inject(token)(Handler, undefined, n);
  return Handler;
}
