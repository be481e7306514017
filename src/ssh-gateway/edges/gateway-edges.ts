import type { Gateway } from '../../caller.js';
import type { Address } from '../../ip-rules/address.js';
import type { Entity } from '../../log/read-model.js';
import type { EntityQueries } from '../../resources/entity-queries.js';
import type { TcpEdge } from '../../tcp-edges/tcp-edge.js';
import type { EdgesByHostport } from '../../tcp-edges/tcp-edges.read-model.js';
import { TCP_EDGES, toResource } from '../../tcp-edges/tcp-edges.resource.js';
import { TUNNEL_GROUPS } from '../../tunnel-groups/tunnel-groups.resource.js';
import { decideEdge, policiesOf } from './edge-check.js';
import { type EdgePolicies, policyKey } from './edge-policies.js';
import {
  type ListedEdge,
  MAX_RULES_OF_AN_ANSWER,
  type ResolvedIpPolicy,
  type ResolvedTunnelGroup,
  toEdgeCheck,
} from './edges.resource.js';

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
  ): Promise<ListedEdge[]> {
    const refs = await this.edges.list(hostport, accountId);
    const found = await Promise.all(refs.map((ref) => this.entities.find(TCP_EDGES, ref)));
    const edges = found.flatMap((edge) => edge ?? []);
    const [groups, policies, checks] = await Promise.all([
      Promise.all(edges.map((edge) => this.groupOf(edge))),
      this.policiesOf(edges),
      this.checksOf(edges, source, baseUrl),
    ]);
    return edges.map((edge, n) => ({
      account_id: edge.account_id,
      edge: toResource(edge, baseUrl),
      ip_policies: policies[n] ?? [],
      tunnel_group: groups[n] ?? null,
      check: checks?.[n] ?? null,
    }));
  }

  private async groupOf({ account_id, backend }: Entity<TcpEdge>): Promise<ResolvedTunnelGroup | undefined> {
    if (backend === null) return undefined;
    const group = await this.entities.find(TUNNEL_GROUPS, { accountId: account_id, id: backend.backend_id });
    return group && { id: group.id, labels: group.labels };
  }

  private async checksOf(edges: readonly Entity<TcpEdge>[], source: Address | undefined, baseUrl: string) {
    if (source === undefined) return undefined;
    const rules = await this.policies.rulesAround(edges.flatMap(policiesOf), source);
    return edges.map((edge) => toEdgeCheck(decideEdge(edge, rules, source), baseUrl));
  }

  /** The policies of each edge. Those that would make the answer too large are without their rules. */
  private async policiesOf(edges: readonly Entity<TcpEdge>[]): Promise<ResolvedIpPolicy[][]> {
    const named = edges.map(policiesOf);
    const counts = await this.policies.counts(named.flat(), MAX_RULES_OF_AN_ANSWER + 1);
    let room = MAX_RULES_OF_AN_ANSWER;
    const planned = named.map((refs) =>
      refs.map((ref) => {
        const count = counts.get(policyKey(ref));
        const fits = count !== undefined && count <= room;
        if (fits) room -= count;
        return { ref, exists: count !== undefined, fits };
      }),
    );
    const wanted = planned.flat().filter(({ fits }) => fits);
    const rules = await this.policies.rules(wanted.map(({ ref }) => ref));
    return planned.map((policies) =>
      policies.map(({ ref, exists, fits }) => {
        const ofPolicy = fits ? rules.get(policyKey(ref)) : undefined;
        // A policy that was deleted between the two statements has no rules any more.
        return {
          id: ref.id,
          exists: exists && (!fits || ofPolicy !== undefined),
          rules: ofPolicy ? [...ofPolicy] : null,
        };
      }),
    );
  }
}
