import type { Entity } from '../event-log/read-model.js';
import type { TcpEdge } from './tcp-edge.js';

export const PATH = 'edges/tcp';

/** The one rendering for create, get, list and update: every field always, an absent module as null. */
export const toResource = ({ id, createdAt, state }: Entity<TcpEdge>, baseUrl: string) => ({
  id,
  uri: `${baseUrl}/${PATH}/${id}`,
  created_at: createdAt.toISOString(),
  description: state.description,
  metadata: state.metadata,
  hostports: state.hostports.map(({ text }) => text),
  ...toModules(state, baseUrl),
});

export const toModules = ({ backend, ip_restriction, traffic_policy }: TcpEdge, baseUrl: string) => ({
  backend: backend && { enabled: backend.enabled, backend: backendRef(backend.backend_id, baseUrl) },
  ip_restriction: ip_restriction && {
    enabled: ip_restriction.enabled,
    ip_policies: ip_restriction.ip_policy_ids.map((id) => ({ id, uri: `${baseUrl}/ip_policies/${id}` })),
  },
  traffic_policy: traffic_policy && { enabled: traffic_policy.enabled, value: traffic_policy.value },
});

/** Kinds of backends by the prefix of their ids. */
const BACKEND_KINDS = new Map([
  ['bkdtg', 'tunnel_group'],
  ['bkdfo', 'failover'],
  ['bkdwd', 'weighted'],
  ['bkdhr', 'http_response'],
  ['bkdsc', 'static'],
]);

/** Backends are not resources of this service: the uri says where the public API has them. */
function backendRef(id: string, baseUrl: string) {
  const kind = BACKEND_KINDS.get(id.slice(0, Math.max(0, id.indexOf('_'))));
  return { id, uri: `${baseUrl}/backends/${kind === undefined ? '' : `${kind}/`}${id}` };
}
