import {
  type Address,
  compilePolicy,
  decideSource,
  type IpRestriction,
  type PolicyReading,
  type TrafficPolicy,
  UnreadablePolicy,
} from '../../rules/index.js';
import type { EdgeAnswer, ListedEdge } from './edge-answer.js';
import type { Labels } from './matching-tunnels.js';

const LEFT_OUT =
  'no edge is served: the service left out the edge that comes first, since the edges at this hostport name too many IP policies';

type CompiledPolicies = ReadonlyMap<string, ReturnType<typeof compilePolicy>>;

/** An edge that this gateway may serve. */
export interface ServedEdge {
  readonly id: string;
  readonly accountId: string;
  /** The labels that a tunnel of the account must have. */
  readonly labels: Labels;
  /** `ask`: only the service can decide, since it did not send so many rules. */
  readonly letsIn: (source: Address) => boolean | 'ask';
  /** Decides about clients that the IP rules let in. Undefined: there is none, or the gateway ignores it. */
  readonly policy: ServedPolicy | undefined;
}

/** A traffic policy that could be read. */
export interface ServedPolicy {
  readonly text: string;
  /** The IP policies that exist, of those that it names. */
  readonly ipPolicies: CompiledPolicies;
  /** Only the service can decide, since it did not send all rules of these IP policies. */
  readonly isAsked: boolean;
}

/** A traffic policy that must be read before its edge is served. */
export interface UnreadText {
  readonly edgeId: string;
  readonly accountId: string;
  readonly text: string;
}

/** The decision what to serve at a hostport. */
export interface Judgement {
  /** Undefined: the hostport is closed. */
  readonly served: ServedEdge | undefined;
  /** Why an edge that has an enabled backend is not served. */
  readonly refusal?: string;
  /** Nothing else keeps the edge from being served. */
  readonly unread?: UnreadText;
  /** The ids of the edges, backends and IP policies whose changes can change this judgement. */
  readonly concerns: ReadonlySet<string>;
}

/** What is known of the text of a traffic policy. `ignore`: the gateway serves edges without their policies. */
type KnownPolicies = 'ignore' | ((text: string) => PolicyReading | undefined);

/**
 * Decides what to serve at a hostport: the first edge whose backend is enabled. If the gateway cannot serve this edge,
 * or the answer left it out, nothing is served: a later edge may belong to another account.
 */
export function judge({ edges, before_left_out }: EdgeAnswer, known: KnownPolicies): Judgement {
  const named = edges.flatMap(namesOf);
  const first = edges.slice(0, before_left_out).find(({ edge }) => edge.backend?.enabled === true);
  if (first === undefined) {
    const refusal = before_left_out < edges.length ? { refusal: LEFT_OUT } : {};
    return { served: undefined, ...refusal, concerns: new Set(named) };
  }
  const { policy, unread, unreadable } = policyOf(first, known);
  const concerns = new Set([...named, ...(policy?.ipPolicyIds ?? [])]);
  const refusal = refusalOf(first) ?? unreadable;
  if (refusal !== undefined) return { served: undefined, refusal: `edge ${first.edge.id} ${refusal}`, concerns };
  if (unread !== undefined) return { served: undefined, unread, concerns };
  return { served: servedEdge(first, policy), concerns };
}

const namesOf = ({ edge, ip_policies }: ListedEdge): string[] => [
  edge.id,
  ...(edge.backend === null ? [] : [edge.backend.backend.id]),
  ...ip_policies.map(({ id }) => id),
];

/** Nothing: the edge has no traffic policy that counts. */
interface PolicyOfEdge {
  readonly policy?: TrafficPolicy;
  readonly unread?: UnreadText;
  /** Why it cannot be read, completing the sentence "edge ID ...". */
  readonly unreadable?: string;
}

function policyOf({ edge, account_id, traffic_policy_error }: ListedEdge, known: KnownPolicies): PolicyOfEdge {
  if (edge.traffic_policy?.enabled !== true || known === 'ignore') return {};
  const { value: text } = edge.traffic_policy;
  if (typeof traffic_policy_error === 'string') return { unreadable: unreadable(traffic_policy_error) };
  const reading = known(text);
  if (reading === undefined) return { unread: { edgeId: edge.id, accountId: account_id, text } };
  return reading instanceof UnreadablePolicy ? { unreadable: unreadable(reading.message) } : { policy: reading };
}

const unreadable = (why: string): string =>
  `is not served: its traffic policy cannot be read (see GATEWAY_TRAFFIC_POLICIES): ${why}`;

/** Why the edge is not served, whatever its traffic policy, completing the sentence "edge ID ...". */
function refusalOf({ edge, ip_policies, tunnel_group }: ListedEdge): string | undefined {
  const unknown = ip_policies.find(({ id, exists }) => !exists && restrictionOf(edge)?.ip_policy_ids.includes(id));
  if (edge.ip_restriction?.enabled === true && unknown !== undefined) {
    return `is not served: its IP restriction names a policy that does not exist: ${unknown.id}`;
  }
  if (tunnel_group === null) return `is not served: its backend ${edge.backend?.backend.id} is not a tunnel group`;
  if (Object.keys(tunnel_group.labels).length === 0) {
    return `is not served: its tunnel group ${tunnel_group.id} has no labels, so it would take every tunnel`;
  }
  return undefined;
}

function servedEdge({ edge, account_id, ip_policies, tunnel_group }: ListedEdge, policy?: TrafficPolicy): ServedEdge {
  const compiled = compiledOf(ip_policies);
  const isLarge = new Set(ip_policies.filter(({ exists, rules }) => exists && rules === null).map(({ id }) => id));
  const areLarge = (ids: readonly string[] = []): boolean => ids.some((id) => isLarge.has(id));
  const restriction = restrictionOf(edge);
  const isAsked = restriction?.enabled === true && areLarge(restriction.ip_policy_ids);
  return {
    id: edge.id,
    accountId: account_id,
    labels: tunnel_group?.labels ?? {},
    letsIn: isAsked ? () => 'ask' : (source) => decideSource(restriction, compiled, source).allowed,
    policy: policy && {
      text: edge.traffic_policy?.value ?? '',
      ipPolicies: compiled,
      isAsked: areLarge(policy.ipPolicyIds),
    },
  };
}

function compiledOf(policies: ListedEdge['ip_policies']): CompiledPolicies {
  return new Map(policies.flatMap(({ id, rules }) => (rules === null ? [] : [[id, compilePolicy(rules)] as const])));
}

/** Decides like `POST /edges/tcp/{id}/check`. */
const restrictionOf = ({ ip_restriction }: ListedEdge['edge']): IpRestriction | null =>
  ip_restriction && {
    enabled: ip_restriction.enabled,
    ip_policy_ids: ip_restriction.ip_policies.map(({ id }) => id),
  };
