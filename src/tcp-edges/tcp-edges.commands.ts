import { CommandHandler, type ICommandHandler } from '@nestjs/cqrs';
import type { RequestContext } from '../http/request-context.js';
import { type Changed, Streams } from '../resources/changes.js';
import { refuseOtherTime } from '../resources/read-only-fields.js';
import type { Hostport } from './hostport.js';
import { HostportClaims } from './hostport-claims.js';
import { create, remove, type TcpEdge, update } from './tcp-edge.js';
import { TcpEdges, tcpEdgesReadModel } from './tcp-edges.read-model.js';

/** What a caller says about an edge, in canonical form. Absent: not given; a null module: to be taken away. */
export interface TcpEdgeInput extends Partial<Omit<TcpEdge, 'hostports'>> {
  readonly hostports?: readonly Hostport[];
}

export class CreateTcpEdge {
  constructor(
    readonly context: RequestContext,
    readonly input: TcpEdgeInput,
  ) {}
}

@CommandHandler(CreateTcpEdge)
export class CreateTcpEdgeHandler implements ICommandHandler<CreateTcpEdge> {
  constructor(
    private readonly streams: Streams,
    private readonly claims: HostportClaims,
  ) {}

  async execute({ context, input }: CreateTcpEdge): Promise<Changed<TcpEdge>> {
    const { hostports = [], ...same } = input;
    const at = this.streams.ids.now();
    const id = this.streams.ids.next('edgtcp', at);
    await this.claims.refuseTaken(id, hostports);
    const edge = { ...same, hostports: this.claims.listed(hostports) };
    return this.streams
      .change({
        model: tcpEdgesReadModel,
        accountId: context.caller.accountId,
        streamId: id,
        load: () => Promise.resolve(undefined),
        decide: (entity) => create(edge)(entity?.state),
        ...context.change,
        occurredAt: at,
      })
      .catch((error) => this.claims.explain(error, id, hostports));
  }
}

/** Also what PUT and DELETE of a module are. */
export class UpdateTcpEdge {
  constructor(
    readonly context: RequestContext,
    readonly id: string,
    readonly input: TcpEdgeInput,
    /** As the caller sent it back; it cannot change. */
    readonly createdAt?: string,
  ) {}
}

@CommandHandler(UpdateTcpEdge)
export class UpdateTcpEdgeHandler implements ICommandHandler<UpdateTcpEdge> {
  constructor(
    private readonly streams: Streams,
    private readonly edges: TcpEdges,
    private readonly claims: HostportClaims,
  ) {}

  async execute({ context, id, input, createdAt }: UpdateTcpEdge): Promise<Changed<TcpEdge>> {
    const { accountId } = context.caller;
    const { hostports, ...same } = input;
    const changes = hostports === undefined ? same : { ...same, hostports: this.claims.listed(hostports) };
    return this.streams
      .change({
        model: tcpEdgesReadModel,
        accountId,
        streamId: id,
        load: async () => {
          const entity = await this.edges.find({ accountId, id });
          // An edge that is not there is what the caller hears about first.
          if (entity !== undefined) await this.claims.refuseTaken(id, hostports ?? []);
          return entity;
        },
        decide: (entity) => {
          const events = update(changes)(entity?.state);
          refuseOtherTime(createdAt, entity);
          return events;
        },
        ...context.change,
        occurredAt: this.streams.ids.now(),
      })
      .catch((error) => this.claims.explain(error, id, hostports ?? []));
  }
}

export class DeleteTcpEdge {
  constructor(
    readonly context: RequestContext,
    readonly id: string,
  ) {}
}

@CommandHandler(DeleteTcpEdge)
export class DeleteTcpEdgeHandler implements ICommandHandler<DeleteTcpEdge> {
  constructor(
    private readonly streams: Streams,
    private readonly edges: TcpEdges,
  ) {}

  async execute({ context, id }: DeleteTcpEdge): Promise<Changed<TcpEdge>> {
    const { accountId } = context.caller;
    return this.streams.change({
      model: tcpEdgesReadModel,
      accountId,
      streamId: id,
      load: () => this.edges.find({ accountId, id }),
      decide: (entity) => remove(entity?.state),
      ...context.change,
      occurredAt: this.streams.ids.now(),
    });
  }
}
