import { type Address, compilePolicy, decideSource, type IpRestriction } from '../../rules/index.js';
import type { EdgeAnswer, ListedEdge } from './edge-answer.js';
import type { Labels } from './matching-tunnels.js';

const LEFT_OUT =
  'no edge is served: the service left out the edge that comes first, since the edges at this hostport name too many IP policies';

/** An edge that this gateway may serve. */
export interface ServedEdge {
  readonly id: string;
  readonly accountId: string;
  /** The labels that a tunnel of the account must have. */
  readonly labels: Labels;
  /** `ask`: only the service can decide, since it did not send so many rules. */
  readonly letsIn: (source: Address) => boolean | 'ask';
}

/** The decision what to serve at a hostport. */
export interface Judgement {
  /** Undefined: the hostport is closed. */
  readonly served: ServedEdge | undefined;
  /** Why an edge that has an enabled backend is not served. */
  readonly refusal?: string;
  /** The ids of the edges, backends and IP policies whose changes can change this judgement. */
  readonly concerns: ReadonlySet<string>;
}

/**
 * Decides what to serve at a hostport: the first edge whose backend is enabled. If the gateway cannot serve this edge,
 * or the answer left it out, nothing is served: a later edge may belong to another account.
 */
export function judge({ edges, before_left_out }: EdgeAnswer, ignoresTrafficPolicies: boolean): Judgement {
  const concerns = new Set(edges.flatMap(namesOf));
  const first = edges.slice(0, before_left_out).find(({ edge }) => edge.backend?.enabled === true);
  if (first === undefined && before_left_out < edges.length) return { served: undefined, refusal: LEFT_OUT, concerns };
  if (first === undefined) return { served: undefined, concerns };
  const refusal = refusalOf(first, ignoresTrafficPolicies);
  if (refusal !== undefined) return { served: undefined, refusal: `edge ${first.edge.id} ${refusal}`, concerns };
  return { served: servedEdge(first), concerns };
}

const namesOf = ({ edge, ip_policies }: ListedEdge): string[] => [
  edge.id,
  ...(edge.backend === null ? [] : [edge.backend.backend.id]),
  ...ip_policies.map(({ id }) => id),
];

/** Why the edge is not served, completing the sentence "edge ID ..."; undefined if it is. */
function refusalOf(
  { edge, ip_policies, tunnel_group }: ListedEdge,
  ignoresTrafficPolicies: boolean,
): string | undefined {
  const unknown = ip_policies.filter(({ exists }) => !exists).map(({ id }) => id);
  if (edge.ip_restriction?.enabled === true && unknown.length > 0) {
    return `is not served: its IP restriction names a policy that does not exist: ${unknown[0]}`;
  }
  if (edge.traffic_policy?.enabled === true && !ignoresTrafficPolicies) {
    return 'is not served: it has an enabled traffic policy, which this gateway cannot enforce; see GATEWAY_TRAFFIC_POLICIES';
  }
  if (tunnel_group === null) return `is not served: its backend ${edge.backend?.backend.id} is not a tunnel group`;
  if (Object.keys(tunnel_group.labels).length === 0) {
    return `is not served: its tunnel group ${tunnel_group.id} has no labels, so it would take every tunnel`;
  }
  return undefined;
}

function servedEdge({ edge, account_id, ip_policies, tunnel_group }: ListedEdge): ServedEdge {
  return {
    id: edge.id,
    accountId: account_id,
    labels: tunnel_group?.labels ?? {},
    letsIn: sourceRule(edge, ip_policies),
  };
}

/** Decides like `POST /edges/tcp/{id}/check`. */
function sourceRule(edge: ListedEdge['edge'], policies: ListedEdge['ip_policies']): ServedEdge['letsIn'] {
  const restriction: IpRestriction | null = edge.ip_restriction && {
    enabled: edge.ip_restriction.enabled,
    ip_policy_ids: edge.ip_restriction.ip_policies.map(({ id }) => id),
  };
  if (restriction?.enabled === true && policies.some(({ rules }) => rules === null)) return () => 'ask';
  const compiled = new Map(
    policies.flatMap(({ id, rules }) => (rules === null ? [] : [[id, compilePolicy(rules)] as const])),
  );
  return (source) => decideSource(restriction, compiled, source).allowed;
}
