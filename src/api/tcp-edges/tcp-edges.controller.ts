import { controllerOf } from '../resources/routes/resource-routes.js';
import { CreateTcpEdgeBody, UpdateTcpEdgeBody } from './tcp-edges.bodies.js';
import { CreateTcpEdge, DeleteTcpEdge, TCP_EDGES, TcpEdgeResource, UpdateTcpEdge } from './tcp-edges.resource.js';

const PROBLEMS_OF_FIELDS = [
  'edge_description_too_long',
  'edge_metadata_too_long',
  'hostport_malformed',
  'hostport_port_out_of_range',
  'backend_id_invalid',
  'ip_policy_id_invalid',
  'hostport_already_used',
] as const;

export const TcpEdgesController = controllerOf(TCP_EDGES, {
  names: ['TcpEdge', 'TcpEdges'],
  nouns: ['a TCP edge', 'TCP edges'],
  answer: TcpEdgeResource,
  create: { command: CreateTcpEdge, body: CreateTcpEdgeBody, problems: PROBLEMS_OF_FIELDS },
  update: {
    command: UpdateTcpEdge,
    body: UpdateTcpEdgeBody,
    description:
      'An absent or null field stays as it is; an empty text or list clears. A module replaces the old module as a whole.',
    problems: [...PROBLEMS_OF_FIELDS, 'edge_not_found'],
  },
  delete: { command: DeleteTcpEdge, problems: ['edge_not_found'] },
});
