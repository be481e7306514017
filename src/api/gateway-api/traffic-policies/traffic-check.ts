import {
  decideTcpConnect,
  type IpPolicies,
  type PolicyReading,
  type TcpConnection,
  type TrafficDecision,
  UnreadablePolicy,
} from '../../../rules/index.js';
import { IP_POLICY } from '../../tcp-edges/edge-modules.js';
import type { Endpoint } from './endpoints.js';
import type { TrafficPolicyCheck } from './traffic-check.resource.js';

/** Who connects, where, and when. */
export interface AskedConnection {
  readonly client: Endpoint;
  readonly server: Endpoint;
  /** Undefined: the connection begins now. */
  readonly startedAt?: Date | undefined;
  /** Undefined: the present. */
  readonly nowMs?: number | undefined;
}

/** `endpointId`: the id of the edge; empty for a policy without one. */
export function connectionOf(
  { client, server, startedAt, nowMs = Date.now() }: AskedConnection,
  endpointId = '',
): TcpConnection {
  return { client, server, endpointId, startedAtMs: startedAt?.getTime() ?? nowMs, nowMs };
}

/** What a traffic policy does with a connection. */
export const checkTraffic = (
  policy: PolicyReading,
  connection: TcpConnection,
  ipPolicies: IpPolicies,
  baseUrl: string,
): TrafficPolicyCheck =>
  toTrafficCheck(
    policy instanceof UnreadablePolicy ? policy : decideTcpConnect(policy, connection, ipPolicies),
    baseUrl,
  );

export function toTrafficCheck(decision: TrafficDecision | UnreadablePolicy, baseUrl: string): TrafficPolicyCheck {
  if (decision instanceof UnreadablePolicy) {
    return { allowed: false, reason: 'unreadable', ...NOTHING, error: decision.message };
  }
  const { allowed, reason, place = null, ruleIndex, ruleName = null, actionType = null, ip } = decision;
  const { logs, logsLeftOut } = decision;
  return {
    ...{ allowed, reason, ...NOTHING, place, action: actionType },
    rule: ruleIndex === undefined ? null : { index: ruleIndex, name: ruleName },
    matched_cidr: ip?.rule?.cidr ?? null,
    ip_policy:
      ip?.policyId === undefined ? null : { id: ip.policyId, uri: `${baseUrl}${IP_POLICY.pathOf(ip.policyId)}` },
    ...{ logs, logs_left_out: logsLeftOut, notes: notesOf(decision) },
  };
}

const NOTHING = {
  ...{ place: null, rule: null, action: null, matched_cidr: null, ip_policy: null, error: null },
  ...{ logs: [], logs_left_out: 0, notes: [] },
};

/** Longer than any id of an IP policy. */
const MAX_SHOWN = 40;

function notesOf({ notes, place, ip }: TrafficDecision): readonly string[] {
  const [unknown] = ip?.reason === 'policy_unknown' ? ip.unknownPolicyIds : [];
  return unknown === undefined
    ? notes
    : [...notes, `${place} names the IP policy ${unknown.slice(0, MAX_SHOWN)}, which does not exist.`];
}
