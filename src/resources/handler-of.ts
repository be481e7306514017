import { Inject, type Type } from '@nestjs/common';
import { CommandHandler } from '@nestjs/cqrs';
import { type Changed, Changes } from './changes.js';

/** A handler that needs only the runner of changes. */
export function handlerOf<Data extends object, State>(
  command: abstract new (...data: never[]) => Data,
  run: (changes: Changes, data: Data) => Promise<Changed<State>>,
): Type {
  @CommandHandler(command as unknown as Type<Data>)
  class Handler {
    constructor(@Inject(Changes) private readonly changes: Changes) {}

    execute(data: Data): Promise<Changed<State>> {
      return run(this.changes, data);
    }
  }
  return Handler;
}
