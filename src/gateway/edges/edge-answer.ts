import type { IpRule, TrafficDecision } from '../../rules/index.js';

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
  readonly tunnel_group: { readonly id: string; readonly labels: Readonly<Record<string, string>> } | null;
  /** Why the service cannot read the enabled traffic policy, as a sentence. An earlier version does not say it. */
  readonly traffic_policy_error?: string | null;
  /** Only if the question had a source. */
  readonly check: EdgeCheck | null;
}

/** Whether an edge lets a source in, by its IP restriction and its traffic policy. */
export interface EdgeCheck {
  readonly allowed: boolean;
  /** `traffic_policy`: the IP restriction lets the source in, and the traffic policy does not. */
  readonly reason: string;
  /** Null if no traffic policy decided. An earlier version of the service has none. */
  readonly traffic_policy?: PolicyCheck | null;
}

interface PolicyCheck {
  readonly allowed: boolean;
  readonly reason: string;
  readonly place: string | null;
  readonly logs: TrafficDecision['logs'];
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
