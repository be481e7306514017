import type { RequestContext } from '../http/request-context.js';

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
