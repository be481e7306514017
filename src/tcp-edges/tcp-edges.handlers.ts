import { CommandHandler, type ICommandHandler } from '@nestjs/cqrs';
import { Changes } from '../resources/changes.js';
import { handlerOf } from '../resources/handler-of.js';
import { HostportClaims } from './hostport-claims.js';
import { create, remove, type TcpEdge, update } from './tcp-edge.js';
import { CreateTcpEdge, DeleteTcpEdge, TCP_EDGES, UpdateTcpEdge } from './tcp-edges.resource.js';

@CommandHandler(CreateTcpEdge)
export class CreateTcpEdgeHandler implements ICommandHandler<CreateTcpEdge> {
  constructor(
    private readonly changes: Changes,
    private readonly claims: HostportClaims,
  ) {}

  execute({ context, body: { hostports = [], ...others } }: CreateTcpEdge) {
    const decide = async (id: string) => {
      await this.claims.refuseTaken(id, hostports);
      return create({ ...others, hostports: this.claims.listed(hostports) })(undefined);
    };
    return this.changes
      .create(TCP_EDGES, context, decide)
      .catch((error) => this.claims.explain(error, 'a new edge', hostports));
  }
}

@CommandHandler(UpdateTcpEdge)
export class UpdateTcpEdgeHandler implements ICommandHandler<UpdateTcpEdge> {
  constructor(
    private readonly changes: Changes,
    private readonly claims: HostportClaims,
  ) {}

  execute({ context, id, body: { hostports, ...others }, sent }: UpdateTcpEdge) {
    const wanted = hostports === undefined ? others : { ...others, hostports: this.claims.listed(hostports) };
    const decide = async (edge: TcpEdge | undefined) => {
      // Before the look-up, so that an unknown edge is 404 and not 409.
      const events = update(wanted)(edge);
      await this.claims.refuseTaken(id, hostports);
      return events;
    };
    return this.changes
      .apply(TCP_EDGES, context, id, decide, { sent })
      .catch((error) => this.claims.explain(error, id, hostports));
  }
}

export const DeleteTcpEdgeHandler = handlerOf(DeleteTcpEdge, Changes, (changes, { context, id }) =>
  changes.apply(TCP_EDGES, context, id, remove),
);
