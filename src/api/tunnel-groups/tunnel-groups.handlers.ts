import { omitUndefined } from '../../kernel/omit-undefined.js';
import { Changes } from '../resources/changes.js';
import { EdgeReferences, NAMED_CONSTRAINT, repeatedOn } from '../resources/edge-references.js';
import { handlerOf } from '../resources/handler-of.js';
import { parseLabels, type TunnelGroup, tunnelGroup } from './tunnel-group.js';
import { CreateTunnelGroup, DeleteTunnelGroup, TUNNEL_GROUPS, UpdateTunnelGroup } from './tunnel-groups.resource.js';

export const TUNNEL_GROUP_HANDLERS = [
  handlerOf(CreateTunnelGroup, [Changes], ({ context, body }, changes) => {
    const { description = '', metadata = '', labels = {} } = body;
    const fields = { description, metadata, labels: parseLabels(labels) };
    return changes.create(TUNNEL_GROUPS, context, () => tunnelGroup.create(fields)(undefined));
  }),

  handlerOf(UpdateTunnelGroup, [Changes], ({ context, id, body }, changes) => {
    const { description, metadata, labels } = body;
    const decide = tunnelGroup.update(omitUndefined({ description, metadata, labels: labels && parseLabels(labels) }));
    return changes.apply(TUNNEL_GROUPS, context, id, decide, { sent: body });
  }),

  handlerOf(DeleteTunnelGroup, [Changes, EdgeReferences], ({ context, id }, changes, edges) => {
    const decide = async (state: TunnelGroup | undefined) =>
      // An unknown group is 404, whatever edges name.
      tunnelGroup.remove(state, state && (await edges.refuseNamed(context.accountId, id, 'tunnel group')));
    return repeatedOn([NAMED_CONSTRAINT], () => changes.apply(TUNNEL_GROUPS, context, id, decide));
  }),
];
