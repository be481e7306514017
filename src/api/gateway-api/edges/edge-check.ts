import { admitClient, type IpPolicies } from '../../../rules/index.js';
import { type AskedConnection, connectionOf, toTrafficCheck } from '../traffic-policies/traffic-check.js';
import type { BeyondMaximum } from './closed-edge.js';
import { type EdgeCheck, toEdgeCheck } from './edges.resource.js';
import type { ReadEdge } from './read-edges.js';

/** Whether an edge admits a client. */
export function checkEdge(
  { edge, trafficPolicy }: ReadEdge,
  ipPolicies: IpPolicies,
  beyond: BeyondMaximum | undefined,
  asked: AskedConnection,
  baseUrl: string,
): EdgeCheck {
  const rules = { restriction: edge.ip_restriction, trafficPolicy, ipPolicies };
  const { ip, traffic } = admitClient(rules, connectionOf(asked, edge.id));
  return toEdgeCheck(ip, traffic === undefined ? null : toTrafficCheck(traffic, baseUrl), beyond, baseUrl);
}
