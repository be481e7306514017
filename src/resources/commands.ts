import type { RequestContext } from '../http/request-context.js';

/** A command is data: on whose behalf, about which entity, and with what body. Each resource names its own. */
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
