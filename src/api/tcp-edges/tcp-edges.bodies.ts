import { omitUndefined } from '../../kernel/omit-undefined.js';
import { malformed, Problem } from '../../kernel/problem.js';
import { MAX_IP_POLICIES } from '../../rules/index.js';
import { atMostBytes, Flag, List, ObjectOf, Text } from '../http/validated-body.js';
import { parseTime } from '../resources/expiry/expiry.js';
import { EXPIRES_AT } from '../resources/expiry/expiry.resource.js';
import { Description, Envelope, Metadata, textFields } from '../resources/fields.js';
import { readOnly } from '../resources/read-only-fields.js';
import { MAX_TRAFFIC_POLICY_BYTES, parseBackend, parseIpRestriction, parseTrafficPolicy } from './edge-modules.js';
import { type Hostport, MAX_HOSTPORT_BYTES, parseHostport } from './hostport.js';
import type { TcpEdgeFields } from './tcp-edge.js';

/** The caller's input for an edge, in canonical form. An absent field was not sent. */
interface TcpEdgeInput extends Omit<TcpEdgeFields, 'hostports'> {
  readonly hostports?: readonly Hostport[];
}

/** Far above any real edge. Each canonical hostport is a row, and one statement writes all rows of a change. */
const MAX_HOSTPORTS = 1000;

export const TEXTS = textFields('The build farm', '{"team":"infrastructure"}');
const HOSTPORTS = {
  description: `Addresses that the edge serves, as \`host:port\`: a DNS name, an IPv4 address or an IPv6 address in brackets, and a port from 1 to 65535. Order and spelling are kept. At most ${MAX_HOSTPORTS} hostports of ${MAX_HOSTPORT_BYTES} bytes each.`,
  maxItems: MAX_HOSTPORTS,
  items: { type: 'string', maxLength: MAX_HOSTPORT_BYTES, 'x-max-bytes': MAX_HOSTPORT_BYTES },
  example: ['build.example.com:22'],
};
const ENABLED = { description: 'Whether the module is enabled. Absent: true.', example: true };
const ID = '1 to 128 characters of `A-Z a-z 0-9 _ -`.';
const ID_PATTERN = { pattern: '^[A-Za-z0-9_-]{1,128}$', maxLength: 128 };
const BACKEND_ID = {
  description: `Id of the backend: ${ID} Required, here or in \`backend\`.`,
  ...ID_PATTERN,
  example: 'bkdtg_3MSH1YH1pfqRL0tXy3dC8OFwmhq',
};
const VALUE = {
  ...atMostBytes(MAX_TRAFFIC_POLICY_BYTES, 'The policy in its own language. Kept character for character.'),
  example: '{"on_tcp_connect":[]}',
};

/** A reference as GET shows it, so that a caller can send back what it got. */
export class ReferenceBody {
  @Text({ description: `Id of the entity: ${ID}`, ...ID_PATTERN, required: true }) id?: string;
  @Text({ description: 'Read-only: omit it, or send the URI that belongs to `id`.' }) uri?: string;
}

const AS_SHOWN = 'as GET shows it. Both at once must name the same.';

export class BackendBody {
  @Flag(ENABLED) enabled?: boolean;
  @Text(BACKEND_ID) backend_id?: string;
  @ObjectOf(ReferenceBody, { description: `In place of \`backend_id\`: the backend ${AS_SHOWN}`, example: null })
  backend?: ReferenceBody;
}

export class IpRestrictionBody {
  @Flag(ENABLED) enabled?: boolean;
  @List({
    description: `Ids of IP policies, each ${ID} At most ${MAX_IP_POLICIES} ids, or those that are stored. Absent: an empty list.`,
    items: { type: 'string', ...ID_PATTERN },
    example: ['ipp_3MSH1YH1pfqRL0tXy3dC8OFwmhq'],
  })
  ip_policy_ids?: unknown[];
  @List({
    description: `In place of \`ip_policy_ids\`: the IP policies ${AS_SHOWN.replace('it.', 'them.')}`,
    listOf: ReferenceBody,
    example: null,
  })
  ip_policies?: unknown[];
}

export class TrafficPolicyBody {
  @Flag(ENABLED) enabled?: boolean;
  @Text({ ...VALUE, required: true }) value?: string;
}

export class CreateTcpEdgeBody extends Envelope {
  @Description('edge_description_too_long', TEXTS.description) description?: string;
  @Metadata('edge_metadata_too_long', TEXTS.metadata) metadata?: string;
  @List(HOSTPORTS) hostports?: unknown[];
  @ObjectOf(BackendBody, { description: 'Destination of the traffic.' }) backend?: BackendBody;
  @ObjectOf(IpRestrictionBody, { description: 'IP policies that decide which clients may connect.' })
  ip_restriction?: IpRestrictionBody;
  @ObjectOf(TrafficPolicyBody, { description: 'Policy for the traffic.' }) traffic_policy?: TrafficPolicyBody;
  @Text(EXPIRES_AT) expires_at?: string;
}

export class UpdateTcpEdgeBody extends CreateTcpEdgeBody {}

/** Reads a body into canonical form. */
export function edgeInput(body: CreateTcpEdgeBody): TcpEdgeInput {
  const { description, metadata, hostports, backend, ip_restriction, traffic_policy, expires_at } = body;
  return omitUndefined({
    description,
    metadata,
    hostports: hostports && parseHostports(hostports),
    backend: backend && parseBackend(backend, 'backend.'),
    ip_restriction: ip_restriction && parseIpRestriction(ip_restriction, 'ip_restriction.'),
    traffic_policy: traffic_policy && parseTrafficPolicy(traffic_policy, 'traffic_policy.'),
    expires_at: expires_at === undefined ? undefined : parseTime('expires_at', expires_at).toISOString(),
  });
}

/** Keeps order, spelling and duplicates. */
function parseHostports(hostports: readonly unknown[]): Hostport[] {
  if (hostports.length > MAX_HOSTPORTS) {
    const sentence = `hostports has ${hostports.length} items; the maximum is ${MAX_HOSTPORTS}.`;
    throw new Problem('hostport_malformed', sentence);
  }
  return hostports.map((text, i) => parseHostport(text, `hostports[${i}]`));
}

const EDGE_ID = { description: 'Id of the edge, as in the path.' };
const MODULE = { description: 'The module, if its fields are not beside `id`.', example: null };

/** Official clients send a module as its fields alone, or as `{"id": <id of the edge>, "module": <the fields>}`. */
export class PutBackendBody extends BackendBody {
  @Text(EDGE_ID) id?: string;
  @ObjectOf(BackendBody, MODULE) module?: BackendBody;
}

export class PutIpRestrictionBody extends IpRestrictionBody {
  @Text(EDGE_ID) id?: string;
  @ObjectOf(IpRestrictionBody, MODULE) module?: IpRestrictionBody;
}

export class PutTrafficPolicyBody extends TrafficPolicyBody {
  @Text({ ...VALUE, required: false }) override value?: string;
  @Text(EDGE_ID) id?: string;
  @ObjectOf(TrafficPolicyBody, MODULE) module?: TrafficPolicyBody;
}

/** Reads a module in either form. `parse` needs the path of the module's fields for its messages. */
export function moduleInput<Sent extends object, Module>(
  body: Sent & { readonly id?: string; readonly module?: Sent },
  edgeId: string,
  parse: (sent: Sent, path: string) => Module,
): Module {
  const { id, module, ...bare } = body;
  if (id !== undefined && id !== edgeId) throw readOnly('id');
  if (module === undefined) return parse(body, '');
  const [name] = Object.keys(bare);
  if (name === undefined) return parse(module, 'module.');
  throw malformed(`Send the fields of the module inside module or beside it, not both: ${name} is beside it.`);
}
