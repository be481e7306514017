import { Problem, type ProblemName, quoted } from '../problem.js';

/** The modules of an edge, in the form of events, rows and decisions. This service only stores them. */
export interface Backend {
  readonly enabled: boolean;
  readonly backend_id: string;
}

export interface IpRestriction {
  readonly enabled: boolean;
  readonly ip_policy_ids: readonly string[];
}

export interface TrafficPolicy {
  readonly enabled: boolean;
  /** As sent, character for character: this service does not know its language. */
  readonly value: string;
}

export type ModuleName = 'backend' | 'ip_restriction' | 'traffic_policy';

export const MAX_TRAFFIC_POLICY_BYTES = 256 * 1024;
/** Far above any real edge. It bounds the cost of rendering one edge. */
export const MAX_IP_POLICIES = 1000;
/** Backends and IP policies are not resources of this service: any id is accepted that needs no escaping in a path. */
const ID = /^[A-Za-z0-9_-]{1,128}$/;

/** `path` is the prefix of field names in messages, such as `backend.`. Throws backend_id_invalid. */
export function parseBackend(given: Partial<Backend>, path: string): Backend {
  const field = `${path}backend_id`;
  const { enabled = true, backend_id } = given;
  if (backend_id === undefined)
    throw new Problem('backend_id_invalid', `${field} is missing; send the id of a backend.`);
  return { enabled, backend_id: parseId(backend_id, field, 'backend_id_invalid') };
}

/** Keeps order and duplicates. Throws ip_policy_id_invalid. */
export function parseIpRestriction(
  given: { readonly enabled?: boolean; readonly ip_policy_ids?: readonly unknown[] },
  path: string,
): IpRestriction {
  const field = `${path}ip_policy_ids`;
  const { enabled = true, ip_policy_ids: ids = [] } = given;
  if (ids.length > MAX_IP_POLICIES) {
    throw new Problem('ip_policy_id_invalid', `${field} has ${ids.length} items; the maximum is ${MAX_IP_POLICIES}.`);
  }
  return { enabled, ip_policy_ids: ids.map((id, i) => parseId(id, `${field}[${i}]`, 'ip_policy_id_invalid')) };
}

/** Accepts an empty value: this service does not judge the text of a policy. */
export function parseTrafficPolicy(given: Partial<TrafficPolicy>, path: string): TrafficPolicy {
  const field = `${path}value`;
  const { enabled = true, value } = given;
  if (value === undefined) throw new Problem('request_malformed', `${field} is missing; send the text of the policy.`);
  const bytes = Buffer.byteLength(value);
  if (bytes <= MAX_TRAFFIC_POLICY_BYTES) return { enabled, value };
  throw new Problem(
    'request_malformed',
    `${field} is ${bytes} bytes long; the maximum is ${MAX_TRAFFIC_POLICY_BYTES}.`,
  );
}

function parseId(id: unknown, field: string, problem: ProblemName): string {
  if (typeof id === 'string' && ID.test(id)) return id;
  const quotedId = typeof id === 'string' ? ` ${quoted(id)}` : '';
  throw new Problem(problem, `${field}${quotedId} must be a string of 1 to 128 characters of A-Z, a-z, 0-9, _ and -.`);
}
