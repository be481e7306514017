import type { Entity } from '../../event-log/index.js';
import { ApiField, ApiSchemaName } from '../http/openapi/decorators.js';
import { EXAMPLE_BASE_URL, EXAMPLE_KSUID } from '../http/openapi/parts.js';
import { EXPIRES_AT } from '../resources/expiry/expiry.resource.js';
import { describedResource } from '../resources/fields.js';
import type { ResourceDescriptor } from '../resources/resource-descriptor.js';
import { BACKEND, IP_POLICY, type ModuleName } from './edge-modules.js';
import { type TcpEdge, type TcpEdgeEvent, tcpEdgeNotFound } from './tcp-edge.js';
import { TEXTS } from './tcp-edges.bodies.js';
import { tcpEdgesReadModel } from './tcp-edges.read-model.js';

const PATH = 'edges/tcp';

/** An edge can have 256 KiB of a traffic policy, and half a MiB of hostports. */
const MAX_PAGE_BYTES = 1024 * 1024;

const ENABLED = { description: 'Whether the module is enabled.', example: true };

/** A reference to what the service may never have been told of: see RefKind. */
const refTo = (path: string, id: string) => ({
  id: { description: 'Id, as sent.', example: id },
  uri: {
    description: 'URI in this service. It answers 404 if the service has no resource with this id.',
    format: 'uri' as const,
    example: `${EXAMPLE_BASE_URL}/${path}/${id}`,
  },
});
const BACKEND_REF = refTo('backends/tunnel_group', `bkdtg_${EXAMPLE_KSUID}`);
const IP_POLICY_REF = refTo('ip_policies', `ipp_${EXAMPLE_KSUID}`);

export class BackendRef {
  @ApiField(BACKEND_REF.id) id!: string;
  @ApiField(BACKEND_REF.uri) uri!: string;
}

export class IpPolicyRef {
  @ApiField(IP_POLICY_REF.id) id!: string;
  @ApiField(IP_POLICY_REF.uri) uri!: string;
}

@ApiSchemaName('Backend')
export class BackendResource {
  @ApiField(ENABLED) enabled!: boolean;
  @ApiField({ description: 'Destination of the traffic.', type: BackendRef }) backend!: BackendRef;
}

@ApiSchemaName('IpRestriction')
export class IpRestrictionResource {
  @ApiField(ENABLED) enabled!: boolean;
  @ApiField({
    description: 'IP policies that decide which clients may connect, in the order sent.',
    listOf: IpPolicyRef,
  })
  ip_policies!: IpPolicyRef[];
}

@ApiSchemaName('TrafficPolicy')
export class TrafficPolicyResource {
  @ApiField(ENABLED) enabled!: boolean;
  @ApiField({ description: 'The policy, character for character as sent.', example: '{"on_tcp_connect":[]}' })
  value!: string;
}

@ApiSchemaName('TcpEdge')
export class TcpEdgeResource extends describedResource(PATH, 'edgtcp', TEXTS) {
  @ApiField({
    description: 'Addresses that the edge serves, as `host:port`.',
    type: 'array',
    items: { type: 'string' },
    example: ['build.example.com:22'],
  })
  hostports!: string[];
  @ApiField({
    description: 'Destination of the traffic; null if the edge has no backend.',
    type: BackendResource,
    nullable: true,
  })
  backend!: BackendResource | null;
  @ApiField({
    description: 'IP policies of the edge; null if it has no IP restriction.',
    type: IpRestrictionResource,
    nullable: true,
  })
  ip_restriction!: IpRestrictionResource | null;
  @ApiField({
    description: 'Policy for the traffic; null if the edge has no traffic policy.',
    type: TrafficPolicyResource,
    nullable: true,
  })
  traffic_policy!: TrafficPolicyResource | null;
  @ApiField({ ...EXPIRES_AT, required: false, description: `${EXPIRES_AT.description} Absent: never.` })
  expires_at?: string;
}

type Modules = Pick<TcpEdgeResource, ModuleName>;

export const TCP_EDGES: ResourceDescriptor<TcpEdge, TcpEdgeEvent> = {
  model: tcpEdgesReadModel,
  idPrefix: 'edgtcp',
  path: PATH,
  listKey: 'tcp_edges',
  largePages: {
    maxBytes: MAX_PAGE_BYTES,
    bytesOfRow: `coalesce(octet_length(t.traffic_policy ->> 'value'), 0)
      + (select coalesce(sum(octet_length(h ->> 'text')), 0) from jsonb_array_elements(t.hostports) h)`,
  },
  notFound: tcpEdgeNotFound,
  toResource,
  partsOf: ({ expires_at }) => ({ expires_at: expires_at?.toISOString() ?? null }),
};

/** The one rendering for create, get, list and update. Every field is there; an absent module is null. An expiry is shown where it is set. */
export function toResource(edge: Entity<TcpEdge>, baseUrl: string): TcpEdgeResource {
  return {
    id: edge.id,
    uri: `${baseUrl}/${PATH}/${edge.id}`,
    created_at: edge.created_at.toISOString(),
    description: edge.description,
    metadata: edge.metadata,
    hostports: edge.hostports.map(({ text }) => text),
    ...toModules(edge, baseUrl),
    ...(edge.expires_at && { expires_at: edge.expires_at.toISOString() }),
  };
}

export const toModules = ({ backend, ip_restriction, traffic_policy }: TcpEdge, baseUrl: string): Modules => ({
  backend: backend && { enabled: backend.enabled, backend: refOf(BACKEND, backend.backend_id, baseUrl) },
  ip_restriction: ip_restriction && {
    enabled: ip_restriction.enabled,
    ip_policies: ip_restriction.ip_policy_ids.map((id) => refOf(IP_POLICY, id, baseUrl)),
  },
  traffic_policy: traffic_policy && { enabled: traffic_policy.enabled, value: traffic_policy.value },
});

const refOf = ({ pathOf }: typeof BACKEND, id: string, baseUrl: string): BackendRef & IpPolicyRef => ({
  id,
  uri: `${baseUrl}${pathOf(id)}`,
});
