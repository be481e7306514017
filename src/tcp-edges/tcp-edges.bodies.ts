import { given } from '../given.js';
import { Flag, List, ObjectOf, Text, TextOfBytes } from '../http/validated-body.js';
import { Problem } from '../problem.js';
import { refuseOtherValue } from '../read-only-fields.js';
import { parseBackend, parseIpRestriction, parseTrafficPolicy } from './edge-modules.js';
import { type Hostport, parseHostport } from './hostport.js';
import type { TcpEdgeInput } from './tcp-edges.commands.js';

const MAX_DESCRIPTION_BYTES = 255;
const MAX_METADATA_BYTES = 4096;
/** Far above any real edge: each canonical hostport is a row of its own, written in the one statement of the change. */
export const MAX_HOSTPORTS = 1000;

export class BackendBody {
  @Flag() enabled?: boolean;
  @Text() backend_id?: string;
}

export class IpRestrictionBody {
  @Flag() enabled?: boolean;
  @List() ip_policy_ids?: unknown[];
}

export class TrafficPolicyBody {
  @Flag() enabled?: boolean;
  @Text() value?: string;
}

export class CreateTcpEdgeBody {
  @TextOfBytes(MAX_DESCRIPTION_BYTES, 'edge_description_too_long') description?: string;
  @TextOfBytes(MAX_METADATA_BYTES, 'edge_metadata_too_long') metadata?: string;
  @List() hostports?: unknown[];
  @ObjectOf(BackendBody) backend?: BackendBody;
  @ObjectOf(IpRestrictionBody) ip_restriction?: IpRestrictionBody;
  @ObjectOf(TrafficPolicyBody) traffic_policy?: TrafficPolicyBody;
}

/** `id`, `uri` and `created_at` are taken when unchanged. */
export class UpdateTcpEdgeBody extends CreateTcpEdgeBody {
  @Text() id?: string;
  @Text() uri?: string;
  @Text() created_at?: string;
}

/** What the body says about an edge, in canonical form. */
export function edgeInput(body: CreateTcpEdgeBody): TcpEdgeInput {
  const { description, metadata, hostports, backend, ip_restriction, traffic_policy } = body;
  return given({
    description,
    metadata,
    hostports: hostports && parseHostports(hostports),
    backend: backend && parseBackend(backend, 'backend.'),
    ip_restriction: ip_restriction && parseIpRestriction(ip_restriction, 'ip_restriction.'),
    traffic_policy: traffic_policy && parseTrafficPolicy(traffic_policy, 'traffic_policy.'),
  });
}

/** Order, spelling and duplicates are the caller's. */
function parseHostports(hostports: readonly unknown[]): Hostport[] {
  if (hostports.length > MAX_HOSTPORTS) {
    const sentence = `hostports has ${hostports.length} items; the most is ${MAX_HOSTPORTS}.`;
    throw new Problem('hostport_malformed', sentence);
  }
  return hostports.map((text, i) => parseHostport(text, `hostports[${i}]`));
}

/** A module comes bare, or as `{"id": <of the edge>, "module": <bare>}`; official clients send both. */
export class PutBackendBody extends BackendBody {
  @Text() id?: string;
  @ObjectOf(BackendBody) module?: BackendBody;
}

export class PutIpRestrictionBody extends IpRestrictionBody {
  @Text() id?: string;
  @ObjectOf(IpRestrictionBody) module?: IpRestrictionBody;
}

export class PutTrafficPolicyBody extends TrafficPolicyBody {
  @Text() id?: string;
  @ObjectOf(TrafficPolicyBody) module?: TrafficPolicyBody;
}

/** The module of either shape, read by `parse`, which is told where in the body the module's fields are. */
export function moduleInput<Given extends object, Module>(
  body: Given & { readonly id?: string; readonly module?: Given },
  edgeId: string,
  parse: (given: Given, path: string) => Module,
): Module {
  const { id, module, ...bare } = body;
  refuseOtherValue('id', id, edgeId);
  if (module === undefined) return parse(body, '');
  const [name] = Object.keys(bare);
  if (name === undefined) return parse(module, 'module.');
  throw new Problem(
    'request_malformed',
    `Give the module's fields in module or beside it, not both: ${name} is beside.`,
  );
}
