import type { Entity } from '../../../event-log/index.js';
import { type Address, compilePolicy, decideSource, type IpDecision } from '../../../rules/index.js';
import type { TcpEdge } from '../../tcp-edges/tcp-edge.js';
import type { RulesByPolicy } from './edge-policies.js';

/** Whether an edge lets an address in, by the rules of the policies that it names. */
export function decideEdge(edge: Entity<TcpEdge>, rules: RulesByPolicy, address: Address): IpDecision {
  const known = policyIdsOf(edge).flatMap((id) => {
    const ofPolicy = rules.get(id);
    return ofPolicy === undefined ? [] : [[id, compilePolicy(ofPolicy)] as const];
  });
  return decideSource(edge.ip_restriction, new Map(known), address);
}

/** The policies that an edge names, each once, in its order. */
export const policyIdsOf = ({ ip_restriction }: Entity<TcpEdge>): string[] => [
  ...new Set(ip_restriction?.ip_policy_ids),
];
