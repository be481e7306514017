import { type EdgeOfHostport, MAX_EDGES_OF_A_HOSTPORT } from '../../tcp-edges/tcp-edges.read-model.js';
import { MAX_POLICIES_OF_AN_ANSWER } from './edges.resource.js';

/** The edges at a hostport that an answer has room for. */
export interface EdgesWithRoom {
  readonly kept: readonly EdgeOfHostport[];
  readonly leftOut: number;
  /** Ids of those that come before each one that is left out. */
  readonly beforeLeftOut: ReadonlySet<string>;
}

/**
 * The edges whose policies an answer has room for. Accounts that name fewer come first, so that one account cannot take
 * the room of another: all policies that one edge can name are half of the room.
 */
export function withRoom(edges: readonly EdgeOfHostport[]): EdgesWithRoom {
  const ofAccounts = new Map<string, number>();
  for (const { accountId, namedPolicies } of edges) {
    ofAccounts.set(accountId, (ofAccounts.get(accountId) ?? 0) + namedPolicies);
  }
  const ofAccount = ({ accountId }: EdgeOfHostport): number => ofAccounts.get(accountId) ?? 0;
  let room = MAX_POLICIES_OF_AN_ANSWER;
  const isKept = new Set<EdgeOfHostport>();
  for (const edge of edges.toSorted((a, b) => ofAccount(a) - ofAccount(b))) {
    if (edge.namedPolicies > room) continue;
    room -= edge.namedPolicies;
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

/** The first hostports of a question, as far as one answer has room for their edges. The first one always has. */
export function asFarAsRoom(all: readonly EdgesWithRoom[]): readonly EdgesWithRoom[] {
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
