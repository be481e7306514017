import { type Address, compilePolicy, decideSource, type IpRestriction } from '../../rules/index.js';
import type { EdgeAnswer, ListedEdge } from './edge-answer.js';
import type { Labels } from './matching-tunnels.js';

const LEFT_OUT =
  'no edge is served: the service left out one that comes first, since their accounts name too many IP policies at this hostport';

/** An edge that this gateway may serve. */
export interface ServedEdge {
  readonly id: string;
  readonly accountId: string;
  /** What a tunnel of the account must have. */
  readonly labels: Labels;
  /** `ask`: the service did not send the rules, since they are too many. */
  readonly letsIn: (source: Address) => boolean | 'ask';
}

/** What is served at a hostport. */
export interface Judgement {
  /** Undefined: the hostport is closed. */
  readonly served: ServedEdge | undefined;
  /** Why an edge that has an enabled backend is not served. */
  readonly refusal?: string;
  /** The ids of everything that a change of the judgement would name. */
  readonly concerns: ReadonlySet<string>;
}

/**
 * Judges the edges at a hostport. The first one whose backend is enabled serves it. If that one cannot be served, no
 * later one takes its place, since it may belong to another account. The same holds for one that the answer left out.
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

/** Completes the sentence "edge ... ", if there is a reason. */
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
  if (tunnel_group === null) return `is not served: its backend ${edge.backend?.backend.id} is no tunnel group`;
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
