import type { Entity } from '../../../event-log/index.js';
import { compilePolicy, decideSource, type PolicyReading } from '../../../rules/index.js';
import type { TcpEdge } from '../../tcp-edges/tcp-edge.js';
import {
  type AskedConnection,
  checkTraffic,
  connectionOf,
  type IpPolicies,
} from '../traffic-policies/traffic-check.js';
import type { RulesByPolicy } from './edge-policies.js';
import { type EdgeCheck, toEdgeCheck } from './edges.resource.js';

/**
 * Whether an edge lets a client in: first by its IP restriction, then by its traffic policy. `traffic`: undefined if it
 * has none that is enabled.
 */
export function checkEdge(
  edge: Entity<TcpEdge>,
  traffic: PolicyReading | undefined,
  policies: IpPolicies,
  asked: AskedConnection,
  baseUrl: string,
): EdgeCheck {
  const decision = decideSource(edge.ip_restriction, policies, asked.client.address);
  const asksTraffic = decision.allowed && traffic !== undefined;
  const connection = connectionOf(asked, edge.id);
  return toEdgeCheck(decision, asksTraffic ? checkTraffic(traffic, connection, policies, baseUrl) : null, baseUrl);
}

/** The policies, ready to decide. */
export const compiled = (rules: RulesByPolicy): IpPolicies =>
  new Map([...rules].map(([id, ofPolicy]) => [id, compilePolicy(ofPolicy)]));
