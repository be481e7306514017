import { CommandHandler, type ICommandHandler } from '@nestjs/cqrs';
import type { RequestContext } from '../../http/request-context.js';
import type { Changed } from '../../resources/changes.js';
import { Bots, Users } from '../access.queries.js';
import { type Principal, remove } from './principal.js';
import { checked, Principals } from './principals.js';

export class DeletePrincipal {
  constructor(
    readonly context: RequestContext,
    readonly id: string,
    readonly kind: Principal['kind'],
  ) {}
}

@CommandHandler(DeletePrincipal)
export class DeletePrincipalHandler implements ICommandHandler<DeletePrincipal> {
  constructor(
    private readonly principals: Principals,
    private readonly users: Users,
    private readonly bots: Bots,
  ) {}

  async execute({ context, id, kind }: DeletePrincipal): Promise<Changed<Principal>> {
    const queries = kind === 'user' ? this.users : this.bots;
    return this.principals.change(
      context,
      id,
      checked(queries, context, id, () => undefined),
      remove,
    );
  }
}
