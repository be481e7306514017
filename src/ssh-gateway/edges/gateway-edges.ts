import type { Gateway } from '../../caller.js';
import type { Address } from '../../ip-rules/address.js';
import type { Entity } from '../../log/read-model.js';
import type { EntityQueries } from '../../resources/entity-queries.js';
import type { TcpEdge } from '../../tcp-edges/tcp-edge.js';
import type { EdgeOfHostport, EdgesByHostport } from '../../tcp-edges/tcp-edges.read-model.js';
import { TCP_EDGES, toResource } from '../../tcp-edges/tcp-edges.resource.js';
import { TUNNEL_GROUPS } from '../../tunnel-groups/tunnel-groups.resource.js';
import { decideEdge, policiesOf } from './edge-check.js';
import { type EdgePolicies, policyKey } from './edge-policies.js';
import {
  type ListedEdge,
  type ListedEdges,
  MAX_POLICIES_OF_AN_ANSWER,
  MAX_RULES_OF_AN_ANSWER,
  type ResolvedTunnelGroup,
  toEdgeCheck,
} from './edges.resource.js';

/** What an answer says about the policies and the decision of an edge. */
type Resolve = (edge: Entity<TcpEdge>) => Pick<ListedEdge, 'ip_policies' | 'check'>;

/** The edges at a hostport, with what they name, so that a gateway needs one question. */
export class GatewayEdges {
  constructor(
    private readonly entities: EntityQueries,
    private readonly edges: EdgesByHostport,
    private readonly policies: EdgePolicies,
  ) {}

  /** `hostport` is canonical. */
  async list(
    { accountId }: Gateway,
    hostport: string,
    source: Address | undefined,
    baseUrl: string,
  ): Promise<ListedEdges> {
    const all = await this.edges.list(hostport, accountId);
    const isKept = withRoom(all);
    const kept = all.filter((edge) => isKept.has(edge));
    const found = await Promise.all(kept.map((ref) => this.entities.find(TCP_EDGES, ref)));
    const edges = found.flatMap((edge) => edge ?? []);
    const [groups, resolve] = await Promise.all([
      Promise.all(edges.map((edge) => this.groupOf(edge))),
      source === undefined ? this.withRules(edges) : this.decided(edges, source, baseUrl),
    ]);
    const listed = edges.map((edge, n) => ({
      account_id: edge.account_id,
      edge: toResource(edge, baseUrl),
      ...resolve(edge),
      tunnel_group: groups[n] ?? null,
    }));
    const firstLeftOut = all.findIndex((edge) => !isKept.has(edge));
    const before = new Set((firstLeftOut < 0 ? all : all.slice(0, firstLeftOut)).map(({ id }) => id));
    return {
      edges: listed,
      left_out: all.length - kept.length,
      before_left_out: edges.filter(({ id }) => before.has(id)).length,
    };
  }

  private async groupOf({ account_id, backend }: Entity<TcpEdge>): Promise<ResolvedTunnelGroup | undefined> {
    if (backend === null) return undefined;
    const group = await this.entities.find(TUNNEL_GROUPS, { accountId: account_id, id: backend.backend_id });
    return group && { id: group.id, labels: group.labels };
  }

  private async decided(edges: readonly Entity<TcpEdge>[], source: Address, baseUrl: string): Promise<Resolve> {
    const rules = await this.policies.deciding(edges.flatMap(policiesOf), source);
    return (edge) => ({
      ip_policies: policiesOf(edge).map((ref) => ({ id: ref.id, exists: rules.has(policyKey(ref)), rules: null })),
      check: toEdgeCheck(decideEdge(edge, rules, source), baseUrl),
    });
  }

  /** Each account has the same share of an answer: the rules of one that needs more are left out. */
  private async withRules(edges: readonly Entity<TcpEdge>[]): Promise<Resolve> {
    const named = edges.flatMap(policiesOf);
    const accounts = new Set(named.map(({ accountId }) => accountId));
    const share = Math.floor(MAX_RULES_OF_AN_ANSWER / accounts.size);
    const { rules, others } = await this.policies.rules(named, share);
    const left = await this.policies.existing(named.filter(({ accountId }) => others.has(accountId)));
    return (edge) => ({
      ip_policies: policiesOf(edge).map((ref) => {
        const ofPolicy = rules.get(policyKey(ref));
        const exists = ofPolicy !== undefined || left.has(policyKey(ref));
        return { id: ref.id, exists, rules: ofPolicy ? [...ofPolicy] : null };
      }),
      check: null,
    });
  }
}

/**
 * The edges whose policies an answer has room for. Accounts that name fewer come first, so that one account cannot take
 * the room of another: all policies that one edge can name are half of the room.
 */
function withRoom(edges: readonly EdgeOfHostport[]): Set<EdgeOfHostport> {
  const ofAccounts = new Map<string, number>();
  for (const { accountId, namedPolicies } of edges) {
    ofAccounts.set(accountId, (ofAccounts.get(accountId) ?? 0) + namedPolicies);
  }
  const ofAccount = ({ accountId }: EdgeOfHostport): number => ofAccounts.get(accountId) ?? 0;
  let room = MAX_POLICIES_OF_AN_ANSWER;
  const kept = edges
    .toSorted((a, b) => ofAccount(a) - ofAccount(b))
    .filter(({ namedPolicies }) => {
      const fits = namedPolicies <= room;
      if (fits) room -= namedPolicies;
      return fits;
    });
  return new Set(kept);
}
