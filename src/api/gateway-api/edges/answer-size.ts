import { type EdgeOfHostport, MAX_EDGES_OF_A_HOSTPORT } from '../../tcp-edges/tcp-edges.read-model.js';
import { MAX_POLICIES_OF_AN_ANSWER } from './edges.resource.js';

/** The edges at a hostport that fit into an answer. */
export interface LimitedEdges {
  readonly kept: readonly EdgeOfHostport[];
  readonly leftOut: number;
  /** Ids of the edges that come before every edge that is left out. */
  readonly beforeLeftOut: ReadonlySet<string>;
}

/**
 * Keeps the edges whose policies fit into an answer. Accounts that name fewer policies come first, so that one account
 * cannot crowd out another: all policies that one edge can name are half of the maximum.
 */
export function limitEdges(edges: readonly EdgeOfHostport[]): LimitedEdges {
  const ofAccounts = new Map<string, number>();
  for (const { accountId, namedPolicies } of edges) {
    ofAccounts.set(accountId, (ofAccounts.get(accountId) ?? 0) + namedPolicies);
  }
  const ofAccount = ({ accountId }: EdgeOfHostport): number => ofAccounts.get(accountId) ?? 0;
  let remaining = MAX_POLICIES_OF_AN_ANSWER;
  const isKept = new Set<EdgeOfHostport>();
  for (const edge of edges.toSorted((a, b) => ofAccount(a) - ofAccount(b))) {
    if (edge.namedPolicies > remaining) continue;
    remaining -= edge.namedPolicies;
    isKept.add(edge);
  }
  const firstLeftOut = edges.findIndex((edge) => !isKept.has(edge));
  const before = firstLeftOut < 0 ? edges : edges.slice(0, firstLeftOut);
  return {
    kept: edges.filter((edge) => isKept.has(edge)),
    leftOut: edges.length - isKept.size,
    beforeLeftOut: new Set(before.map(({ id }) => id)),
  };
}

/** Keeps the first hostports of a question, as far as their edges fit into one answer. The first one always does. */
export function limitHostports(all: readonly LimitedEdges[]): readonly LimitedEdges[] {
  const counted = new Set<string>();
  let policies = 0;
  const end = all.findIndex(({ kept }, n) => {
    for (const { id, namedPolicies } of kept) {
      if (!counted.has(id)) policies += namedPolicies;
      counted.add(id);
    }
    return n > 0 && (counted.size > MAX_EDGES_OF_A_HOSTPORT || policies > MAX_POLICIES_OF_AN_ANSWER);
  });
  return end < 0 ? all : all.slice(0, end);
}
