import { Injectable } from '@nestjs/common';
import type { Ref } from '../../../database/index.js';
import { EntityQueries } from '../../resources/entity-queries.js';
import { TCP_EDGES } from '../../tcp-edges/tcp-edges.resource.js';
import { TrafficPolicies } from '../traffic-policies/traffic-policies.js';
import type { ReadEdge } from './edge-check.js';

/** Reads edges with their traffic policies. */
@Injectable()
export class ReadEdges {
  constructor(
    private readonly entities: EntityQueries,
    private readonly trafficPolicies: TrafficPolicies,
  ) {}

  async find(ref: Ref): Promise<ReadEdge | undefined> {
    const edge = await this.entities.find(TCP_EDGES, ref);
    if (edge === undefined) return undefined;
    const { ip_restriction, traffic_policy: module } = edge;
    const traffic = module?.enabled ? await this.trafficPolicies.read(module.value, edge.account_id) : undefined;
    const ofTraffic = traffic !== undefined && 'policy' in traffic ? traffic.policy.ipPolicyIds : [];
    return { edge, traffic, policyIds: [...new Set([...(ip_restriction?.ip_policy_ids ?? []), ...ofTraffic])] };
  }
}
