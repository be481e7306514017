import { Injectable } from '@nestjs/common';
import type { Ref } from '../../../database/index.js';
import type { Entity } from '../../../event-log/index.js';
import type { Gateway } from '../../../kernel/caller.js';
import { type IpRule, MAX_READ_POLICY_BYTES, UnreadablePolicy } from '../../../rules/index.js';
import { ReservedNames } from '../../reservations/reserved-names.js';
import { EntityQueries } from '../../resources/entity-queries.js';
import type { TcpEdge } from '../../tcp-edges/tcp-edge.js';
import { type EdgesAt, EdgesByHostport } from '../../tcp-edges/tcp-edges.read-model.js';
import { toResource } from '../../tcp-edges/tcp-edges.resource.js';
import { TUNNEL_GROUPS } from '../../tunnel-groups/tunnel-groups.resource.js';
import type { AskedConnection } from '../traffic-policies/traffic-check.js';
import { beyondMaximum, sentenceOf } from './closed-edge.js';
import { checkEdge } from './edge-check.js';
import { EdgePolicies } from './edge-policies.js';
import {
  type AnswerAboutHostport,
  type EdgeOfHostport,
  type EdgesOfHostports,
  type ListedEdge,
  MAX_BYTES_OF_AN_ANSWER,
  type ResolvedTunnelGroup,
} from './edges.resource.js';
import { type ReadEdge, ReadEdges } from './read-edges.js';

/** A fifth of what the gateway of this project waits for an answer. */
const MAX_READING_MS = 1_000;
/** An edge can have some 2 MB in memory while it is read. */
const READ_AT_ONCE = 20;

interface ServedEdge {
  readonly hostport: string;
  readonly edge?: ListedEdge;
  /** How many other edges list the hostport. */
  readonly others: number;
}

/** What an answer says about the IP policies of an edge. */
type OfPolicies = Pick<ListedEdge, 'ip_policies' | 'ip_policies_error' | 'check'>;

/** The edges that are served, with the policies and groups that they name. */
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
    gateway: Gateway,
    hostport: string,
    asked: AskedConnection | undefined,
    baseUrl: string,
  ): Promise<EdgeOfHostport> {
    const [found] = await this.find(gateway, [hostport]);
    const listed = (ref: Ref) => this.listed(ref, asked, baseUrl);
    const { edge, others } = await this.served(gateway, found ?? { hostport, ids: [] }, listed);
    return { edge: edge ?? null, others };
  }

  /** The hostports are canonical. The last ones are left out of an answer that is large or takes long, never the first. */
  async listAll(gateway: Gateway, hostports: readonly string[], baseUrl: string): Promise<EdgesOfHostports> {
    const until = performance.now() + MAX_READING_MS;
    const found = await this.find(gateway, hostports);
    const known = new Map<string, Promise<ListedEdge | undefined>>();
    const listed = (ref: Ref) => {
      const edge = known.get(ref.id) ?? this.listed(ref, undefined, baseUrl);
      known.set(ref.id, edge);
      return edge;
    };
    const edges = new Map<string, ListedEdge>();
    const answers: AnswerAboutHostport[] = [];
    let bytes = 0;
    for (let n = 0; n < found.length; n += READ_AT_ONCE) {
      const some = found.slice(n, n + READ_AT_ONCE).map((one) => this.served(gateway, one, listed));
      for (const { hostport, edge, others } of await Promise.all(some)) {
        const id = edge?.edge.id ?? null;
        if (edge !== undefined && id !== null && !edges.has(id)) {
          bytes += Buffer.byteLength(JSON.stringify(edge));
          const isFull = bytes > MAX_BYTES_OF_AN_ANSWER || performance.now() > until;
          if (isFull && answers.length > 0) return { edges: [...edges.values()], hostports: answers };
          edges.set(id, edge);
        }
        answers.push({ hostport, edge_id: id, others });
      }
    }
    return { edges: [...edges.values()], hostports: answers };
  }

  /**
   * The edges that list each hostport and may be served there. What is reserved is looked up before, so that
   * the edges of others, which may have listed the hostport earlier, do not crowd out those of the account that reserved
   * it.
   */
  private async find({ accountId }: Gateway, hostports: readonly string[]): Promise<EdgesAt[]> {
    const servers = await this.reserved.servers(hostports);
    return Promise.all(
      hostports.map(async (hostport, n) => {
        const only = servers[n];
        const isForeign = only === null || (accountId ?? only) !== only;
        if (only !== undefined && isForeign) return { hostport, ids: [] };
        return this.edges.at(hostport, only ?? accountId);
      }),
    );
  }

  /** Looks again if the edge was deleted meanwhile: another one may be served then. */
  private async served(
    gateway: Gateway,
    { hostport, ids, served }: EdgesAt,
    listed: (ref: Ref) => Promise<ListedEdge | undefined>,
  ): Promise<ServedEdge> {
    if (served === undefined) return { hostport, others: ids.length };
    const edge = await listed(served);
    if (edge !== undefined) return { hostport, edge, others: ids.length - 1 };
    const [again = { hostport, ids: [] }] = await this.find(gateway, [hostport]);
    return this.served(gateway, again, listed);
  }

  private async listed(ref: Ref, asked: AskedConnection | undefined, baseUrl: string): Promise<ListedEdge | undefined> {
    const read = await this.readEdges.find(ref);
    if (read === undefined) return undefined;
    const { edge, trafficPolicy } = read;
    const [tunnel_group, ofPolicies] = await Promise.all([
      this.groupOf(edge),
      asked === undefined ? this.withRules(read) : this.decided(read, asked, baseUrl),
    ]);
    return {
      account_id: edge.account_id,
      edge: withoutLongText(toResource(edge, baseUrl)),
      ...ofPolicies,
      traffic_policy_error: trafficPolicy instanceof UnreadablePolicy ? trafficPolicy.message : null,
      tunnel_group: tunnel_group ?? null,
    };
  }

  private async groupOf({ account_id, backend }: Entity<TcpEdge>): Promise<ResolvedTunnelGroup | undefined> {
    if (backend === null) return undefined;
    const group = await this.entities.find(TUNNEL_GROUPS, { accountId: account_id, id: backend.backend_id });
    return group && { id: group.id, labels: group.labels };
  }

  private async decided(read: ReadEdge, asked: AskedConnection, baseUrl: string): Promise<OfPolicies> {
    const { edge, policyIds } = read;
    const [ipPolicies, hasTooManyRules] = await Promise.all([
      this.policies.deciding(edge.account_id, policyIds, asked.client.address),
      this.policies.areTooMany(edge.account_id, policyIds),
    ]);
    const beyond = beyondMaximum(read.edge, hasTooManyRules);
    return {
      ip_policies: policyIds.map((id) => ({ id, exists: ipPolicies.has(id), rules: null })),
      ip_policies_error: sentenceOf(beyond),
      check: checkEdge(read, ipPolicies, beyond, asked, baseUrl),
    };
  }

  private async withRules(read: ReadEdge): Promise<OfPolicies> {
    const { edge, policyIds } = read;
    const rules = await this.policies.rules(edge.account_id, policyIds);
    const existing = rules ?? (await this.policies.existing(edge.account_id, policyIds));
    return {
      ip_policies: policyIds.map((id) => ({ id, exists: existing.has(id), rules: rulesOf(rules?.get(id)) })),
      ip_policies_error: sentenceOf(beyondMaximum(read.edge, rules === undefined)),
      check: null,
    };
  }
}

const rulesOf = (rules: readonly IpRule[] | undefined) => (rules === undefined ? null : [...rules]);

/** A gateway needs no text that nobody reads. */
function withoutLongText({ traffic_policy: module, ...edge }: ListedEdge['edge']): ListedEdge['edge'] {
  const isLong = module !== null && Buffer.byteLength(module.value) > MAX_READ_POLICY_BYTES;
  return { ...edge, traffic_policy: isLong ? { ...module, value: '' } : module };
}
