import { Injectable } from '@nestjs/common';
import type { Ref } from '../../../database/index.js';
import { PolicyReader } from '../../../rules/index.js';
import { EntityQueries } from '../../resources/entity-queries.js';
import { TCP_EDGES } from '../../tcp-edges/tcp-edges.resource.js';
import { namedBy } from '../traffic-policies/traffic-check.js';
import type { ReadEdge } from './edge-check.js';

/** Reads edges with their traffic policies. */
@Injectable()
export class ReadEdges {
  constructor(
    private readonly entities: EntityQueries,
    private readonly trafficPolicies: PolicyReader,
  ) {}

  async find(ref: Ref): Promise<ReadEdge | undefined> {
    const edge = await this.entities.find(TCP_EDGES, ref);
    if (edge === undefined) return undefined;
    const { ip_restriction, traffic_policy: module } = edge;
    const traffic = module?.enabled ? await this.trafficPolicies.read(module.value, edge.account_id) : undefined;
    return { edge, traffic, policyIds: [...new Set([...(ip_restriction?.ip_policy_ids ?? []), ...namedBy(traffic)])] };
  }
}
