import type { CompiledPolicy } from './ip-rules/ip-policy.js';
import { decideSource, type IpDecision, type IpRestriction } from './ip-rules/ip-restriction.js';
import type { PolicyReading } from './traffic-policy/policy-reader.js';
import { decideTcpConnect, type TcpConnection, type TrafficDecision } from './traffic-policy/tcp-connect.js';
import { UnreadablePolicy } from './traffic-policy/unreadable-policy.js';

/** The most IP policies that an IP restriction names. */
export const MAX_IP_POLICIES = 100;
/** The most rules of an IP policy, and of all IP policies that an edge names. An edge that comes to more is closed. */
export const MAX_IP_RULES = 5_000;

/** IP policies by their ids. One that does not exist has no entry. */
export type IpPolicies = ReadonlyMap<string, CompiledPolicy>;

/** What an edge asks of its clients. */
export interface EdgeRules {
  readonly restriction: IpRestriction | null;
  /** Its enabled traffic policy. Undefined: it has none. */
  readonly trafficPolicy: PolicyReading | undefined;
  /** Of those that the two name. */
  readonly ipPolicies: IpPolicies;
}

/** Whether an edge admits a client, and why. */
export interface EdgeAdmission {
  readonly isAdmitted: boolean;
  readonly ip: IpDecision;
  /** What the traffic policy decided, or why it cannot be read. Undefined: it was not asked. */
  readonly traffic?: TrafficDecision | UnreadablePolicy;
}

/** Admits a client of an edge or refuses it: by the IP restriction, and then by the traffic policy. */
export function admitClient(
  { restriction, trafficPolicy, ipPolicies }: EdgeRules,
  connection: TcpConnection,
): EdgeAdmission {
  const ip = decideSource(restriction, ipPolicies, connection.client.address);
  if (!ip.allowed || trafficPolicy === undefined) return { isAdmitted: ip.allowed, ip };
  if (trafficPolicy instanceof UnreadablePolicy) return { isAdmitted: false, ip, traffic: trafficPolicy };
  const traffic = decideTcpConnect(trafficPolicy, connection, ipPolicies);
  return { isAdmitted: traffic.allowed, ip, traffic };
}
