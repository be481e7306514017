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
    readonly traffic_policy: { readonly enabled: boolean } | null;
  };
  readonly ip_policies: readonly ResolvedPolicy[];
  readonly tunnel_group: { readonly id: string; readonly labels: Readonly<Record<string, string>> } | null;
  /** Only if the question had a source. */
  readonly check: { readonly allowed: boolean } | null;
}

interface ResolvedPolicy {
  readonly id: string;
  readonly exists: boolean;
  /** Null if the policy does not exist, or if its account has too many rules for an answer. */
  readonly rules: readonly IpRule[] | null;
}

/** The edges at a hostport, in the order in which they listed it. */
export interface EdgeAnswer {
  readonly edges: readonly ListedEdge[];
  /** The number of edges before the first one that the answer has no room for. */
  readonly before_left_out: number;
}
