import { isJsonObject } from '../../kernel/json-object.js';
import { malformed, Problem, type ProblemName, quoted } from '../../kernel/problem.js';

/** The modules of an edge, in the form of events, rows and decisions. */
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
  /** As sent, character for character: a text that cannot be applied is stored too. */
  readonly value: string;
}

export type ModuleName = 'backend' | 'ip_restriction' | 'traffic_policy';

/** The most bytes of the text of a traffic policy, as in the public API. A longer one than MAX_READ_POLICY_BYTES lets nobody in. */
export const MAX_TRAFFIC_POLICY_BYTES = 256 * 1024;
/**
 * The service accepts any id that needs no escaping in a path, since it may never have been told of what the id names.
 */
const ID = /^[A-Za-z0-9_-]{1,128}$/;

/** A kind of entity that a module refers to. The service makes the URI of a reference from its id. */
interface RefKind {
  readonly problem: ProblemName;
  /** Path of the URI, with its leading slash. */
  readonly pathOf: (id: string) => string;
}

/** Kinds of backends by the prefix of their ids. */
const BACKEND_KINDS = new Map([
  ['bkdtg', 'tunnel_group'],
  ['bkdfo', 'failover'],
  ['bkdwd', 'weighted'],
  ['bkdhr', 'http_response'],
  ['bkdsc', 'static'],
]);

export const BACKEND: RefKind = {
  problem: 'backend_id_invalid',
  pathOf: (id) => {
    const kind = BACKEND_KINDS.get(id.slice(0, Math.max(0, id.indexOf('_'))));
    return `/backends/${kind === undefined ? '' : `${kind}/`}${id}`;
  },
};
export const IP_POLICY: RefKind = { problem: 'ip_policy_id_invalid', pathOf: (id) => `/ip_policies/${id}` };

/** A module in the public API's form of a body (`backend_id`), as GET shows it (`backend`), or in both if they agree. */
interface SentBackend {
  readonly enabled?: boolean;
  readonly backend_id?: string;
  readonly backend?: unknown;
}

interface SentIpRestriction {
  readonly enabled?: boolean;
  readonly ip_policy_ids?: readonly unknown[];
  readonly ip_policies?: readonly unknown[];
}

/** `path` is the prefix of field names in messages, such as `backend.`. Throws Problem. */
export function parseBackend({ enabled = true, backend_id, backend }: SentBackend, path: string): Backend {
  const field = `${path}backend_id`;
  const bare = backend_id === undefined ? undefined : parseId(backend_id, field, BACKEND);
  const shown = backend === undefined ? undefined : parseRef(backend, `${path}backend`, BACKEND);
  const id = agreed(bare, shown, `${field} and ${path}backend`);
  if (id === undefined) throw new Problem('backend_id_invalid', `${field} is missing; send the id of a backend.`);
  return { enabled, backend_id: id };
}

/** Keeps order and duplicates. Throws Problem. */
export function parseIpRestriction(given: SentIpRestriction, path: string): IpRestriction {
  const { enabled = true, ip_policy_ids, ip_policies } = given;
  const [ids, policies] = [`${path}ip_policy_ids`, `${path}ip_policies`];
  const bare = ip_policy_ids && parseEach(ip_policy_ids, ids, parseId);
  const shown = ip_policies && parseEach(ip_policies, policies, parseRef);
  return { enabled, ip_policy_ids: agreed(bare, shown, `${ids} and ${policies}`) ?? [] };
}

const parseEach = (items: readonly unknown[], field: string, parse: typeof parseId): string[] =>
  items.map((item, i) => parse(item, `${field}[${i}]`, IP_POLICY));

function agreed<Ids extends string | readonly string[]>(
  bare: Ids | undefined,
  shown: Ids | undefined,
  fields: string,
): Ids | undefined {
  if (bare === undefined || shown === undefined || JSON.stringify(bare) === JSON.stringify(shown)) return bare ?? shown;
  throw malformed(`${fields} name different ids; send one of the two.`);
}

/** Accepts every text: whether it can be applied, `check` and the answers to gateways say. */
export function parseTrafficPolicy(given: Partial<TrafficPolicy>, path: string): TrafficPolicy {
  const field = `${path}value`;
  const { enabled = true, value } = given;
  if (value === undefined) throw malformed(`${field} is missing; send the text of the policy.`);
  const bytes = Buffer.byteLength(value);
  if (bytes <= MAX_TRAFFIC_POLICY_BYTES) return { enabled, value };
  throw malformed(`${field} is ${bytes} bytes long; the maximum is ${MAX_TRAFFIC_POLICY_BYTES}.`);
}

function parseId(id: unknown, field: string, { problem }: RefKind): string {
  if (typeof id === 'string' && ID.test(id)) return id;
  const quotedId = typeof id === 'string' ? ` ${quoted(id)}` : '';
  throw new Problem(problem, `${field}${quotedId} must be a string of 1 to 128 characters of A-Z, a-z, 0-9, _ and -.`);
}

/** Reads a reference as GET shows it, with or without its URI. A null field counts as absent. */
function parseRef(ref: unknown, field: string, kind: RefKind): string {
  if (!isJsonObject(ref)) throw new Problem('field_wrong_type', `${field} must be an object such as {"id": "..."}.`);
  const unknown = Object.keys(ref).find((name) => name !== 'id' && name !== 'uri');
  if (unknown !== undefined) throw new Problem('field_unknown', `${field} takes only id and uri.`);
  const id = parseId(ref.id ?? undefined, `${field}.id`, kind);
  const { uri } = ref;
  // One service may be reached by several names, so only the path counts.
  const belongs = uri === undefined || uri === null || (typeof uri === 'string' && uri.endsWith(kind.pathOf(id)));
  if (belongs) return id;
  throw malformed(`${field}.uri is not the URI of ${quoted(id)}: omit it, or send the one that GET shows.`);
}
