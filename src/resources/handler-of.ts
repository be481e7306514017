import { type Abstract, Inject, type Type } from '@nestjs/common';
import { CommandHandler } from '@nestjs/cqrs';
import type { Changed } from './changes.js';

/** A handler that needs only one runner of changes. */
export function handlerOf<Data extends object, Runner, State>(
  command: abstract new (...data: never[]) => Data,
  runnerClass: Abstract<Runner>,
  run: (runner: Runner, data: Data) => Promise<Changed<State>>,
): Type {
  @CommandHandler(command as unknown as Type<Data>)
  class Handler {
    constructor(@Inject(runnerClass) private readonly runner: Runner) {}

    execute(data: Data): Promise<Changed<State>> {
      return run(this.runner, data);
    }
  }
  return Handler;
}
