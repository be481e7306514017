import {
  type EdgeOfHostport,
  MAX_EDGES_OF_A_HOSTPORT,
  POLICY_BYTES_OF_A_NAME,
} from '../../tcp-edges/tcp-edges.read-model.js';
import { MAX_SIZE_OF_AN_ANSWER } from './edges.resource.js';
import type { ReadEdge } from './read-edges.js';

/** The edges at a hostport that fit into an answer. */
export interface LimitedEdges {
  readonly kept: readonly EdgeOfHostport[];
  readonly leftOut: number;
  /** Ids of the edges that come before every edge that is left out. */
  readonly beforeLeftOut: ReadonlySet<string>;
}

/**
 * Keeps the edges that fit into an answer. Accounts whose edges take less come first, so that one account cannot crowd
 * out another: all that one edge can take is half of the maximum.
 */
export function limitEdges(edges: readonly EdgeOfHostport[]): LimitedEdges {
  const ofAccounts = new Map<string, number>();
  for (const { accountId, size } of edges) ofAccounts.set(accountId, (ofAccounts.get(accountId) ?? 0) + size);
  const ofAccount = ({ accountId }: EdgeOfHostport): number => ofAccounts.get(accountId) ?? 0;
  let remaining = MAX_SIZE_OF_AN_ANSWER;
  const isKept = new Set<EdgeOfHostport>();
  for (const edge of edges.toSorted((a, b) => ofAccount(a) - ofAccount(b))) {
    if (edge.size > remaining) continue;
    remaining -= edge.size;
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
  let total = 0;
  const end = all.findIndex(({ kept }, n) => {
    for (const { id, size } of kept) {
      if (!counted.has(id)) total += size;
      counted.add(id);
    }
    return n > 0 && (counted.size > MAX_EDGES_OF_A_HOSTPORT || total > MAX_SIZE_OF_AN_ANSWER);
  });
  return end < 0 ? all : all.slice(0, end);
}

/**
 * The edges at a hostport with their true sizes, now that those which were kept are read. An edge that was left out stays
 * so; one that was deleted meanwhile takes nothing.
 */
export function resized(
  edges: readonly EdgeOfHostport[],
  { kept }: LimitedEdges,
  read: ReadonlyMap<string, ReadEdge>,
): readonly EdgeOfHostport[] {
  const wasKept = new Set(kept.map(({ id }) => id));
  return edges.map((edge) => ({ ...edge, size: wasKept.has(edge.id) ? sizeOf(read.get(edge.id)) : TOO_LARGE }));
}

/** A number, so that the sums of accounts can be compared. */
const TOO_LARGE = MAX_SIZE_OF_AN_ANSWER + 1;

function sizeOf(read: ReadEdge | undefined): number {
  if (read === undefined) return 0;
  const bytes = Buffer.byteLength(read.edge.traffic_policy?.value ?? '');
  return read.policyIds.length + Math.ceil(bytes / POLICY_BYTES_OF_A_NAME);
}
