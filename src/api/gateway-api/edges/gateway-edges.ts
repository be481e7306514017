import { Injectable } from '@nestjs/common';
import type { Ref } from '../../../database/index.js';
import type { Entity } from '../../../event-log/index.js';
import type { Gateway } from '../../../kernel/caller.js';
import { nextTurn } from '../../../kernel/in-turns.js';
import { ReservedNames } from '../../reservations/reserved-names.js';
import { EntityQueries } from '../../resources/entity-queries.js';
import type { TcpEdge } from '../../tcp-edges/tcp-edge.js';
import { EdgesByHostport } from '../../tcp-edges/tcp-edges.read-model.js';
import { toResource } from '../../tcp-edges/tcp-edges.resource.js';
import { TUNNEL_GROUPS } from '../../tunnel-groups/tunnel-groups.resource.js';
import type { AskedConnection, IpPolicies } from '../traffic-policies/traffic-check.js';
import { type LimitedEdges, limitEdges, limitHostports, resized } from './answer-size.js';
import { checkEdge, compiled } from './edge-check.js';
import { EdgePolicies } from './edge-policies.js';
import {
  type EdgeCheck,
  type EdgesOfHostports,
  type ListedEdge,
  type ListedEdges,
  MAX_RULES_OF_AN_ANSWER,
  type ResolvedTunnelGroup,
} from './edges.resource.js';
import { type ReadEdge, ReadEdges } from './read-edges.js';

/** A fifth of what the gateway of this project waits for an answer: those of other accounts need time too. */
const MAX_READING_MS = 1_000;

/** What an answer says about the policies and the decision of an edge. */
type Resolve = (read: ReadEdge) => Pick<ListedEdge, 'ip_policies' | 'check'>;

/** The edges at a hostport, with the policies and groups that they name. */
@Injectable()
export class GatewayEdges {
  constructor(
    private readonly entities: EntityQueries,
    private readonly edges: EdgesByHostport,
    private readonly readEdges: ReadEdges,
    private readonly policies: EdgePolicies,
    private readonly reserved: ReservedNames,
  ) {}

  /** `hostport` is canonical. */
  async list(
    { accountId }: Gateway,
    hostport: string,
    asked: AskedConnection | undefined,
    baseUrl: string,
  ): Promise<ListedEdges> {
    const [found = []] = await this.find([hostport], accountId);
    const first = limitEdges(found);
    const { read } = await this.readEdges.findAll(first.kept);
    const limited = limitEdges(resized(found, first, read));
    const edges = await this.listed(readOf(limited.kept, read), asked, baseUrl);
    return { edges, ...countsOf(limited, edges) };
  }

  /**
   * The hostports are canonical. Hostports beyond the size of an answer are left out, and those whose traffic policies
   * are not read in time, but never the first one. Who asks again gets these, since the policies were read meanwhile.
   */
  async listAll({ accountId }: Gateway, hostports: readonly string[], baseUrl: string): Promise<EdgesOfHostports> {
    const all = await this.find(hostports, accountId);
    const first = limitHostports(all.map(limitEdges));
    const { read, unread } = await this.readEdges.findAll(uniqueOf(first), first[0]?.kept.length, MAX_READING_MS);
    const limited = limitHostports(first.map((one, n) => limitEdges(resized(all[n] ?? [], one, read))));
    const ready = uniqueOf(limited).filter(({ id }) => !unread.has(id));
    const { refs, edges } = await this.limitRules(ready, limited[0]?.kept.length ?? 0, read, baseUrl);
    const listed = new Set(refs.map(({ id }) => id));
    const byId = new Map(edges.map((one) => [one.edge.id, one]));
    const answers = limited.flatMap((ofHostport, n) => {
      if (!ofHostport.kept.every(({ id }) => listed.has(id))) return [];
      const found = ofHostport.kept.flatMap(({ id }) => byId.get(id) ?? []);
      return [
        { hostport: hostports[n] ?? '', edge_ids: found.map(({ edge }) => edge.id), ...countsOf(ofHostport, found) },
      ];
    });
    return { edges, hostports: answers };
  }

  /**
   * The edges at each hostport that may be served. What is reserved is looked up before, so that the edges of others,
   * which may have listed the hostport earlier, do not crowd out those of the account that reserved it.
   */
  private async find(hostports: readonly string[], accountId: string | undefined) {
    const servers = await this.reserved.servers(hostports);
    return Promise.all(
      hostports.map(async (hostport, n) => {
        const only = servers[n];
        if (only === undefined) return this.edges.list(hostport, accountId);
        return only === null || (accountId ?? only) !== only ? [] : this.edges.list(hostport, only);
      }),
    );
  }

  /**
   * Lists the first edges, as far as no account has more rules than its share. The edges of the first hostport are
   * always listed, as in a question about that hostport alone.
   */
  private async limitRules(
    all: readonly Ref[],
    ofFirstHostport: number,
    read: ReadonlyMap<string, ReadEdge>,
    baseUrl: string,
  ) {
    for (let refs = all; ; refs = refs.slice(0, Math.max(ofFirstHostport, Math.ceil(refs.length / 4)))) {
      const edges = await this.listed(readOf(refs, read), undefined, baseUrl);
      if (refs.length <= ofFirstHostport || !edges.some(hasNoRules)) return { refs, edges };
    }
  }

  private async listed(
    edges: readonly ReadEdge[],
    asked: AskedConnection | undefined,
    baseUrl: string,
  ): Promise<ListedEdge[]> {
    const [groups, resolve] = await Promise.all([
      Promise.all(edges.map(({ edge }) => this.groupOf(edge))),
      asked === undefined ? this.withRules(edges) : this.decided(edges, asked, baseUrl),
    ]);
    return edges.map((read, n) => ({
      account_id: read.edge.account_id,
      edge: toResource(read.edge, baseUrl),
      ...resolve(read),
      traffic_policy_error: read.traffic?.error ?? null,
      tunnel_group: groups[n] ?? null,
    }));
  }

  private async groupOf({ account_id, backend }: Entity<TcpEdge>): Promise<ResolvedTunnelGroup | undefined> {
    if (backend === null) return undefined;
    const group = await this.entities.find(TUNNEL_GROUPS, { accountId: account_id, id: backend.backend_id });
    return group && { id: group.id, labels: group.labels };
  }

  private async decided(edges: readonly ReadEdge[], asked: AskedConnection, baseUrl: string): Promise<Resolve> {
    const { address } = asked.client;
    const ofAccounts = await ofEachAccount(policyIdsByAccount(edges), async (accountId, ids) =>
      compiled(await this.policies.deciding(accountId, ids, address)),
    );
    const policiesOf = ({ edge }: ReadEdge): IpPolicies => ofAccounts.get(edge.account_id) ?? new Map();
    // One after another, so that the policies of an account are not all in memory, and others get their turns.
    const checks = new Map<ReadEdge, EdgeCheck>();
    for (const read of edges) {
      const traffic = await this.readEdges.policyOf(read.edge);
      await nextTurn(read.edge.account_id);
      checks.set(read, checkEdge(read.edge, traffic, policiesOf(read), asked, baseUrl));
    }
    return (read) => ({
      ip_policies: read.policyIds.map((id) => ({ id, exists: policiesOf(read).has(id), rules: null })),
      check: checks.get(read) ?? null,
    });
  }

  /** Each account has the same share of an answer: the rules of one that needs more are left out. */
  private async withRules(edges: readonly ReadEdge[]): Promise<Resolve> {
    const named = policyIdsByAccount(edges);
    const share = Math.floor(MAX_RULES_OF_AN_ANSWER / named.size);
    const ofAccounts = await ofEachAccount(named, async (accountId, ids) => {
      const rules = await this.policies.rules(accountId, ids, share);
      return { rules, existing: rules ?? (await this.policies.existing(accountId, ids)) };
    });
    return ({ edge, policyIds }) => {
      const found = ofAccounts.get(edge.account_id);
      return {
        ip_policies: policyIds.map((id) => {
          const rules = found?.rules?.get(id);
          return { id, exists: found?.existing.has(id) === true, rules: rules ? [...rules] : null };
        }),
        check: null,
      };
    };
  }
}

/** The policies that the edges of each account name. An account whose edges name none has no entry. */
function policyIdsByAccount(edges: readonly ReadEdge[]): ReadonlyMap<string, ReadonlySet<string>> {
  const named = new Map<string, Set<string>>();
  for (const { edge, policyIds } of edges) {
    const ids = named.get(edge.account_id) ?? new Set();
    for (const id of policyIds) named.set(edge.account_id, ids.add(id));
  }
  return named;
}

async function ofEachAccount<Found>(
  named: ReadonlyMap<string, ReadonlySet<string>>,
  find: (accountId: string, policyIds: readonly string[]) => Promise<Found>,
): Promise<ReadonlyMap<string, Found>> {
  const found = [...named].map(async ([accountId, ids]) => [accountId, await find(accountId, [...ids])] as const);
  return new Map(await Promise.all(found));
}

const countsOf = ({ leftOut, beforeLeftOut }: LimitedEdges, edges: readonly ListedEdge[]) => ({
  left_out: leftOut,
  before_left_out: edges.filter(({ edge }) => beforeLeftOut.has(edge.id)).length,
});

const readOf = (refs: readonly Ref[], read: ReadonlyMap<string, ReadEdge>): ReadEdge[] =>
  refs.flatMap(({ id }) => read.get(id) ?? []);

const uniqueOf = (limited: readonly LimitedEdges[]): Ref[] => [
  ...new Map(limited.flatMap(({ kept }) => kept.map((ref) => [ref.id, ref]))).values(),
];

const hasNoRules = ({ ip_policies }: ListedEdge): boolean =>
  ip_policies.some(({ exists, rules }) => exists && rules === null);
