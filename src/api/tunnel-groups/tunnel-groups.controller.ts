import { controllerOf } from '../resources/routes/resource-routes.js';
import {
  CreateTunnelGroup,
  CreateTunnelGroupBody,
  DeleteTunnelGroup,
  TUNNEL_GROUPS,
  TunnelGroupResource,
  UpdateTunnelGroup,
  UpdateTunnelGroupBody,
} from './tunnel-groups.resource.js';

const LABELS = ['label_key_length', 'label_value_length', 'label_has_equals_sign'] as const;

export const TunnelGroupsController = controllerOf(TUNNEL_GROUPS, {
  names: ['TunnelGroup', 'TunnelGroups'],
  nouns: ['a tunnel group', 'tunnel groups'],
  answer: TunnelGroupResource,
  create: { command: CreateTunnelGroup, body: CreateTunnelGroupBody, problems: LABELS },
  update: {
    command: UpdateTunnelGroup,
    body: UpdateTunnelGroupBody,
    description: 'An absent or null field stays as it is; an empty text clears. Labels replace all labels.',
    problems: [...LABELS, 'not_found'],
  },
  delete: {
    command: DeleteTunnelGroup,
    description:
      'An edge that names the group keeps its id. In strict mode a group that an edge names cannot be deleted (409).',
    problems: ['not_found', 'conflict'],
  },
});
