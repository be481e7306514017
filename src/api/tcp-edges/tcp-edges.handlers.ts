import { CommandHandler, type ICommandHandler } from '@nestjs/cqrs';
import type { RequestContext } from '../http/request-context.js';
import { Changes } from '../resources/changes.js';
import { CreateCommand, DeleteCommand, UpdateCommand } from '../resources/commands.js';
import type { ModuleName } from './edge-modules.js';
import { HostportClaims } from './hostport-claims.js';
import { create, refusePastExpiry, remove, type TcpEdge, type TcpEdgeFields, update } from './tcp-edge.js';
import { type CreateTcpEdgeBody, edgeInput, type UpdateTcpEdgeBody } from './tcp-edges.bodies.js';
import { TCP_EDGES } from './tcp-edges.resource.js';

export class CreateTcpEdge extends CreateCommand<CreateTcpEdgeBody> {}
export class UpdateTcpEdge extends UpdateCommand<UpdateTcpEdgeBody> {}
/** PUT and DELETE of a module or the expiry; null removes it. */
export class ChangeEdgeModule extends UpdateCommand<Pick<TcpEdgeFields, ModuleName | 'expires_at'>> {}
export class DeleteTcpEdge extends DeleteCommand {}

@CommandHandler(CreateTcpEdge)
class CreateTcpEdgeHandler implements ICommandHandler<CreateTcpEdge> {
  constructor(
    private readonly changes: Changes,
    private readonly claims: HostportClaims,
  ) {}

  execute({ context, body }: CreateTcpEdge) {
    const { hostports = [], ...others } = edgeInput(body);
    const { accountId } = context;
    const decide = async (edgeId: string, _: RequestContext, at: Date) => {
      refusePastExpiry(others, at);
      return create({ ...others, hostports: await this.claims.claim({ edgeId, accountId }, hostports, at) });
    };
    const refusals = this.claims.refusals({ edgeId: 'a new edge', accountId }, hostports);
    return this.changes.create(TCP_EDGES, context, decide, { refusals });
  }
}

@CommandHandler(UpdateTcpEdge)
class UpdateTcpEdgeHandler implements ICommandHandler<UpdateTcpEdge> {
  constructor(
    private readonly changes: Changes,
    private readonly claims: HostportClaims,
  ) {}

  execute({ context, id, body }: UpdateTcpEdge) {
    const { hostports, ...others } = edgeInput(body);
    const claimant = { edgeId: id, accountId: context.accountId };
    const decide = async (edge: TcpEdge | undefined, _: RequestContext, at: Date) => {
      // An unknown edge is 404 and not 409.
      if (edge !== undefined) refusePastExpiry(others, at, edge);
      if (edge === undefined || hostports === undefined) return update(edge, others);
      return update(edge, { ...others, hostports: await this.claims.claim(claimant, hostports, at) });
    };
    const refusals = this.claims.refusals(claimant, hostports);
    return this.changes.apply(TCP_EDGES, context, id, decide, { sent: body, refusals });
  }
}

@CommandHandler(ChangeEdgeModule)
class ChangeEdgeModuleHandler implements ICommandHandler<ChangeEdgeModule> {
  constructor(private readonly changes: Changes) {}

  execute({ context, id, body }: ChangeEdgeModule) {
    return this.changes.apply(TCP_EDGES, context, id, (edge) => update(edge, body));
  }
}

@CommandHandler(DeleteTcpEdge)
class DeleteTcpEdgeHandler implements ICommandHandler<DeleteTcpEdge> {
  constructor(private readonly changes: Changes) {}

  execute({ context, id }: DeleteTcpEdge) {
    return this.changes.apply(TCP_EDGES, context, id, remove);
  }
}

export const TCP_EDGE_HANDLERS = [
  CreateTcpEdgeHandler,
  UpdateTcpEdgeHandler,
  ChangeEdgeModuleHandler,
  DeleteTcpEdgeHandler,
];
