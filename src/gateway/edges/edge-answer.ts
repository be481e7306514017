import type { IpRule } from '../../rules/index.js';

/** The fields that the gateway uses in the answers of `/ssh_gateway/edges`. */
export interface ListedEdge {
  readonly account_id: string;
  readonly edge: {
    readonly id: string;
    readonly backend: { readonly enabled: boolean; readonly backend: { readonly id: string } } | null;
    readonly ip_restriction: {
      readonly enabled: boolean;
      readonly ip_policies: readonly { readonly id: string }[];
    } | null;
    readonly traffic_policy: { readonly enabled: boolean; readonly value: string } | null;
  };
  /** Those of the IP restriction, then those that only the traffic policy names. */
  readonly ip_policies: readonly ResolvedPolicy[];
  /** Why the edge is closed, as a sentence: it has too many of them, or too many rules. */
  readonly ip_policies_error: string | null;
  readonly tunnel_group: { readonly id: string; readonly labels: Readonly<Record<string, string>> } | null;
  /** Why the service cannot read the enabled traffic policy, as a sentence. */
  readonly traffic_policy_error: string | null;
}

interface ResolvedPolicy {
  readonly id: string;
  readonly exists: boolean;
  /** Null if the policy does not exist, or if the edge has too many rules. */
  readonly rules: readonly IpRule[] | null;
}

/** The answer of `POST /ssh_gateway/edges`. */
export interface EdgesOfHostports {
  readonly edges: readonly ListedEdge[];
  readonly hostports: readonly { readonly hostport: string; readonly edge_id: string | null }[];
}
