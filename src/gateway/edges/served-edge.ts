import { compilePolicy, type IpPolicies, type IpRestriction } from '../../rules/index.js';
import type { ListedEdge } from './edge-answer.js';
import type { Labels } from './matching-tunnels.js';

/** An edge that this gateway serves. */
export interface ServedEdge {
  readonly id: string;
  readonly accountId: string;
  /** The labels that a tunnel of the account must have. */
  readonly labels: Labels;
  readonly restriction: IpRestriction | null;
  /** Those that exist, of the IP restriction and of the traffic policy. Compiled when the first client needs them. */
  readonly ipPolicies: () => IpPolicies;
  /** Undefined: it has no traffic policy that counts, or the gateway ignores it. */
  readonly policyText: string | undefined;
}

/** What is served at a hostport. */
export interface Serving {
  /** Undefined: the hostport is closed. */
  readonly served: ServedEdge | undefined;
  /** Why an edge that has an enabled backend is not served. */
  readonly refusal?: string;
  /** The ids of the edge, its backend and its IP policies: their changes can change this. */
  readonly concerns: ReadonlySet<string>;
}

export const NOTHING: Serving = { served: undefined, concerns: new Set() };

/** `isIgnoring`: the gateway serves edges without their traffic policies. */
export function servingOf(listed: ListedEdge, isIgnoring: boolean): Serving {
  const { edge, ip_policies } = listed;
  const backend = edge.backend?.backend.id;
  const concerns = new Set([edge.id, ...(backend === undefined ? [] : [backend]), ...ip_policies.map(({ id }) => id)]);
  const why = refusalOf(listed) ?? (isIgnoring ? undefined : unreadable(listed));
  return why === undefined
    ? { served: servedEdge(listed, isIgnoring), concerns }
    : { ...notServed(edge.id, why), concerns };
}

/** `why` completes the sentence "edge ID is not served: ...". */
export const notServed = (id: string, why: string) => ({
  served: undefined,
  refusal: `edge ${id} is not served: ${why}`,
});

/** Why the edge is not served, whatever its traffic policy. */
function refusalOf({ edge, ip_policies, ip_policies_error, tunnel_group }: ListedEdge): string | undefined {
  const { ip_restriction: restriction } = edge;
  const named = new Set(restriction?.enabled ? restriction.ip_policies.map(({ id }) => id) : []);
  const unknown = ip_policies.find(({ id, exists }) => !exists && named.has(id));
  if (ip_policies_error != null) return ip_policies_error;
  if (unknown !== undefined) return `its IP restriction names a policy that does not exist: ${unknown.id}`;
  if (tunnel_group === null) return `its backend ${edge.backend?.backend.id} is not a tunnel group`;
  if (Object.keys(tunnel_group.labels).length > 0) return undefined;
  return `its tunnel group ${tunnel_group.id} has no labels, so it would take every tunnel`;
}

const unreadable = ({ traffic_policy_error: why }: ListedEdge): string | undefined =>
  why == null ? undefined : `its traffic policy cannot be read (see GATEWAY_TRAFFIC_POLICIES): ${why}`;

function servedEdge({ edge, account_id, tunnel_group, ip_policies }: ListedEdge, isIgnoring: boolean): ServedEdge {
  const { ip_restriction: restriction, traffic_policy: policy } = edge;
  let compiled: IpPolicies | undefined;
  return {
    id: edge.id,
    accountId: account_id,
    labels: tunnel_group?.labels ?? {},
    // It decides like `POST /edges/tcp/{id}/check`.
    restriction: restriction && {
      enabled: restriction.enabled,
      ip_policy_ids: restriction.ip_policies.map(({ id }) => id),
    },
    ipPolicies: () => {
      compiled ??= new Map(
        ip_policies.flatMap(({ id, rules }) => (rules === null ? [] : [[id, compilePolicy(rules)] as const])),
      );
      return compiled;
    },
    policyText: policy?.enabled === true && !isIgnoring ? policy.value : undefined,
  };
}
