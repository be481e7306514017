import type { Entity } from '../../../event-log/index.js';
import { compilePolicy, decideSource, type PolicyReading } from '../../../rules/index.js';
import type { TcpEdge } from '../../tcp-edges/tcp-edge.js';
import type { Endpoint } from '../traffic-policies/endpoints.js';
import { checkTraffic, connectionNow, type IpPolicies } from '../traffic-policies/traffic-check.js';
import type { RulesByPolicy } from './edge-policies.js';
import { type EdgeCheck, toEdgeCheck } from './edges.resource.js';

/** An edge, and what its enabled traffic policy says. */
export interface ReadEdge {
  readonly edge: Entity<TcpEdge>;
  /** Undefined: it has none, or none that is enabled. */
  readonly traffic: PolicyReading | undefined;
  /** The IP policies that the IP restriction names, then those that the traffic policy names, each once. */
  readonly policyIds: readonly string[];
}

/** Who connects to an edge, and where. */
export interface Visit {
  readonly client: Endpoint;
  readonly server: Endpoint;
}

/** Whether an edge lets a client in: first by its IP restriction, then by its traffic policy. */
export function checkEdge(
  { edge, traffic }: ReadEdge,
  policies: IpPolicies,
  { client, server }: Visit,
  baseUrl: string,
): EdgeCheck {
  const decision = decideSource(edge.ip_restriction, policies, client.address);
  const asksTraffic = decision.allowed && traffic !== undefined;
  const connection = connectionNow(client, server, edge.id);
  return toEdgeCheck(decision, asksTraffic ? checkTraffic(traffic, connection, policies, baseUrl) : null, baseUrl);
}

/** The policies, ready to decide. */
export const compiled = (rules: RulesByPolicy): IpPolicies =>
  new Map([...rules].map(([id, ofPolicy]) => [id, compilePolicy(ofPolicy)]));
