import { Command } from '@nestjs/cqrs';
import type { Answer } from '../http/answer.js';
import type { RequestContext } from '../http/request-context.js';

/**
 * A command is data: the request's context, the entity's id and the body. Each resource declares its own beside their
 * handlers.
 */
export abstract class CreateCommand<Body> extends Command<Answer> {
  constructor(
    readonly context: RequestContext,
    readonly body: Body,
  ) {
    super();
  }
}

export abstract class UpdateCommand<Body> extends Command<Answer> {
  constructor(
    readonly context: RequestContext,
    readonly id: string,
    readonly body: Body,
  ) {
    super();
  }
}

export abstract class DeleteCommand extends Command<Answer> {
  constructor(
    readonly context: RequestContext,
    readonly id: string,
  ) {
    super();
  }
}
