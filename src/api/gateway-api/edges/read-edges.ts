import { Injectable } from '@nestjs/common';
import type { Ref } from '../../../database/index.js';
import type { Entity } from '../../../event-log/index.js';
import { eventLoop } from '../../../kernel/event-loop.js';
import { namedBy, PolicyReader, type PolicyReading } from '../../../rules/index.js';
import { EntityQueries } from '../../resources/entity-queries.js';
import type { TcpEdge } from '../../tcp-edges/tcp-edge.js';
import { TCP_EDGES } from '../../tcp-edges/tcp-edges.resource.js';

/** An edge with its traffic policy. */
export interface ReadEdge {
  readonly edge: Entity<TcpEdge>;
  /** Undefined: it has none that is enabled. */
  readonly trafficPolicy: PolicyReading | undefined;
  /** The IP policies that the IP restriction names, then those that the traffic policy names, each once. */
  readonly policyIds: readonly string[];
}

/** Reads edges with their traffic policies. */
@Injectable()
export class ReadEdges {
  constructor(
    private readonly entities: EntityQueries,
    private readonly reader: PolicyReader,
  ) {}

  async find(ref: Ref): Promise<ReadEdge | undefined> {
    const edge = await this.entities.find(TCP_EDGES, ref);
    return edge && this.read(edge);
  }

  async read(edge: Entity<TcpEdge>): Promise<ReadEdge> {
    const { ip_restriction, traffic_policy: module } = edge;
    const trafficPolicy = module?.enabled ? await this.policy(module.value, edge.account_id) : undefined;
    const policyIds = [...(ip_restriction?.ip_policy_ids ?? []), ...namedBy(trafficPolicy)];
    return { edge, trafficPolicy, policyIds: [...new Set(policyIds)] };
  }

  /** Reads a traffic policy, in a piece of work of its account unless it is held. */
  async policy(text: string, accountId: string): Promise<PolicyReading> {
    const read = () => this.reader.read(text);
    return this.reader.holds(text) ? read() : eventLoop.run([accountId], read);
  }
}
