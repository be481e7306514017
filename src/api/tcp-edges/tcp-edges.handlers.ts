import { Changes } from '../resources/changes.js';
import { handlerOf } from '../resources/handler-of.js';
import { HostportClaims } from './hostport-claims.js';
import { create, remove, type TcpEdge, update } from './tcp-edge.js';
import { edgeInput } from './tcp-edges.bodies.js';
import { ChangeEdgeModule, CreateTcpEdge, DeleteTcpEdge, TCP_EDGES, UpdateTcpEdge } from './tcp-edges.resource.js';

export const TCP_EDGE_HANDLERS = [
  handlerOf(CreateTcpEdge, [Changes, HostportClaims], ({ context, body }, changes, claims) => {
    const { hostports = [], ...others } = edgeInput(body);
    const { accountId } = context;
    const decide = async (id: string, _: unknown, at: Date) => {
      await claims.refuseTaken(id, hostports);
      return create({ ...others, hostports: claims.listed(hostports, at) })(undefined);
    };
    return changes
      .create(TCP_EDGES, context, decide)
      .catch((error) => claims.explain(error, { edgeId: 'a new edge', accountId }, hostports));
  }),

  handlerOf(UpdateTcpEdge, [Changes, HostportClaims], ({ context, id, body }, changes, claims) => {
    const { hostports, ...others } = edgeInput(body);
    const { accountId } = context;
    const decide = async (edge: TcpEdge | undefined, _: unknown, at: Date) => {
      const wanted = hostports === undefined ? others : { ...others, hostports: claims.listed(hostports, at) };
      // Before the look-up, so that an unknown edge is 404 and not 409.
      const events = update(wanted)(edge);
      await claims.refuseTaken(id, hostports);
      return events;
    };
    return changes
      .apply(TCP_EDGES, context, id, decide, { sent: body })
      .catch((error) => claims.explain(error, { edgeId: id, accountId }, hostports));
  }),

  handlerOf(ChangeEdgeModule, [Changes], ({ context, id, body }, changes) =>
    changes.apply(TCP_EDGES, context, id, update(body)),
  ),

  handlerOf(DeleteTcpEdge, [Changes], ({ context, id }, changes) => changes.apply(TCP_EDGES, context, id, remove)),
];
