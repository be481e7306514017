import { Inject, type Type } from '@nestjs/common';
import { CommandHandler } from '@nestjs/cqrs';
import type { RequestContext } from '../http/request-context.js';
import { type Changed, Changes } from './changes.js';

/** A command is data: the request's context, the entity's id and the body. Each resource declares its own commands. */
export abstract class CreateCommand<Body> {
  constructor(
    readonly context: RequestContext,
    readonly body: Body,
  ) {}
}

export abstract class UpdateCommand<Body> {
  constructor(
    readonly context: RequestContext,
    readonly id: string,
    readonly body: Body,
  ) {}
}

export abstract class DeleteCommand {
  constructor(
    readonly context: RequestContext,
    readonly id: string,
  ) {}
}

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
