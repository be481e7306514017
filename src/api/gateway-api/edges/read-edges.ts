import { setTimeout as delay } from 'node:timers/promises';
import { Injectable } from '@nestjs/common';
import type { Ref } from '../../../database/index.js';
import type { Entity } from '../../../event-log/index.js';
import { PolicyReader, type PolicyReading, type PolicySummary } from '../../../rules/index.js';
import { EntityQueries } from '../../resources/entity-queries.js';
import type { TcpEdge } from '../../tcp-edges/tcp-edge.js';
import { TCP_EDGES } from '../../tcp-edges/tcp-edges.resource.js';
import { readEachAccount } from './read-each-account.js';

/** An edge, and what its enabled traffic policy says. */
export interface ReadEdge {
  readonly edge: Entity<TcpEdge>;
  /** Undefined: it has none, or none that is enabled. */
  readonly traffic: PolicySummary | undefined;
  /** The IP policies that the IP restriction names, then those that the traffic policy names, each once. */
  readonly policyIds: readonly string[];
}

/** Edges by their ids. */
interface ReadEdgesOfAnswer {
  /** Without those that are deleted meanwhile. */
  readonly read: ReadonlyMap<string, ReadEdge>;
  /** Those whose traffic policies were not read in time. */
  readonly unread: ReadonlySet<string>;
}

/** Reads edges with their traffic policies. */
@Injectable()
export class ReadEdges {
  constructor(
    private readonly entities: EntityQueries,
    private readonly trafficPolicies: PolicyReader,
  ) {}

  async find(ref: Ref): Promise<ReadEdge | undefined> {
    const edge = await this.entities.find(TCP_EDGES, ref);
    return edge && this.read(edge);
  }

  /** Reads the first `needed` edges, and those of the others whose policies are read within `maxMs`. */
  async findAll(refs: readonly Ref[], needed = refs.length, maxMs = 0): Promise<ReadEdgesOfAnswer> {
    const found = await Promise.all(refs.map((ref) => this.entities.find(TCP_EDGES, ref)));
    const edges = found.flatMap((edge, n) =>
      edge === undefined ? [] : [{ accountId: edge.account_id, edge, isNeeded: n < needed }],
    );
    const timeUp = delay(maxMs, undefined, { ref: false });
    const read = await readEachAccount(edges, ({ edge }) => this.read(edge), timeUp);
    return {
      read: new Map([...read].map(([{ edge }, one]) => [edge.id, one])),
      unread: new Set(edges.flatMap((one) => (read.has(one) ? [] : [one.edge.id]))),
    };
  }

  /** The enabled traffic policy of an edge, to decide by it. */
  async policyOf({ account_id, traffic_policy: module }: Entity<TcpEdge>): Promise<PolicyReading | undefined> {
    return module?.enabled ? this.trafficPolicies.read(module.value, account_id) : undefined;
  }

  private async read(edge: Entity<TcpEdge>): Promise<ReadEdge> {
    const { ip_restriction, traffic_policy: module } = edge;
    const traffic = module?.enabled ? await this.trafficPolicies.summary(module.value, edge.account_id) : undefined;
    const policyIds = [...(ip_restriction?.ip_policy_ids ?? []), ...(traffic?.ipPolicyIds ?? [])];
    return { edge, traffic, policyIds: [...new Set(policyIds)] };
  }
}
