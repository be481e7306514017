import { malformed } from '../../../kernel/problem.js';
import {
  IP_REASONS,
  type IpDecision,
  type IpReason,
  type IpRule,
  MAX_IP_POLICIES,
  MAX_IP_RULES,
  MAX_READ_POLICY_BYTES,
} from '../../../rules/index.js';
import { ApiField } from '../../http/openapi/decorators.js';
import { EXAMPLE_BASE_URL, EXAMPLE_KSUID, idPattern } from '../../http/openapi/parts.js';
import { List, TextOfBytes } from '../../http/validated-body.js';
import { ACTIONS } from '../../ip-policies/ip-policy-rule.js';
import { IP_POLICY_RULES } from '../../ip-policies/ip-policy-rules.resource.js';
import { RESERVATION_REASONS, type ReservationReason } from '../../reservations/reservation.js';
import { IP_POLICY } from '../../tcp-edges/edge-modules.js';
import { MAX_HOSTPORT_BYTES, parseHostport } from '../../tcp-edges/hostport.js';
import { MAX_EDGES_OF_A_HOSTPORT } from '../../tcp-edges/tcp-edges.read-model.js';
import { IpPolicyRef, TcpEdgeResource } from '../../tcp-edges/tcp-edges.resource.js';
import { MAX_SOURCE_BYTES } from '../binds/binds.resource.js';
import { AsOf, NOT_CONSIDERED } from '../checks/as-of.resource.js';
import { DESTINATION, SOURCE, TrafficPolicyCheck } from '../traffic-policies/traffic-check.resource.js';
import { BEYOND_MAXIMUM, type BeyondMaximum } from './closed-edge.js';

/** The most bytes of the edges of an answer, as JSON. One edge with 5,000 rules and 1,000 hostports has some 1 MiB. */
export const MAX_BYTES_OF_AN_ANSWER = 4 * 1024 * 1024;

const RULE_ID = { description: 'Id of the rule.', example: `ipr_${EXAMPLE_KSUID}` };
const CIDR = { description: 'The network, in canonical form.', example: '203.0.113.0/24' };
const ACTION = {
  description: 'Whether the rule allows or denies its network.',
  enum: ACTIONS,
  example: 'allow',
};

export class EdgeCheckBody {
  @TextOfBytes(MAX_SOURCE_BYTES, 'request_malformed', { ...SOURCE, required: true }) source?: string;
  @TextOfBytes(MAX_SOURCE_BYTES, 'request_malformed', {
    ...DESTINATION,
    description: `${DESTINATION.description} Absent: \`0.0.0.0\` or \`::\`, and the port of the first hostport.`,
  })
  destination?: string;
  @AsOf() as_of?: string;
}

/** The maximum of one question. An edge lists at most as many. */
const MAX_ASKED_HOSTPORTS = 1_000;

export class FindEdgesBody {
  @List({
    description: `Hostports as \`host:port\`, in any spelling, 1 to ${MAX_ASKED_HOSTPORTS}. Required.`,
    maxItems: MAX_ASKED_HOSTPORTS,
    items: { type: 'string', maxLength: MAX_HOSTPORT_BYTES },
    example: ['1.tcp.example.com:20000'],
  })
  hostports?: unknown[];
}

/** In canonical form. Throws request_malformed, hostport_malformed or hostport_port_out_of_range. */
export function readHostports({ hostports = [] }: FindEdgesBody): string[] {
  if (hostports.length > 0 && hostports.length <= MAX_ASKED_HOSTPORTS) {
    return hostports.map((text, n) => parseHostport(text, `hostports[${n}]`).canonical);
  }
  throw malformed(`hostports has ${hostports.length} items; it takes 1 to ${MAX_ASKED_HOSTPORTS}.`);
}

export class MatchedIpRule {
  @ApiField(RULE_ID) id!: string;
  @ApiField({
    description: 'URI of the rule.',
    format: 'uri',
    example: `${EXAMPLE_BASE_URL}/${IP_POLICY_RULES.path}/ipr_${EXAMPLE_KSUID}`,
  })
  uri!: string;
  @ApiField(CIDR) cidr!: string;
  @ApiField(ACTION) action!: IpRule['action'];
}

/** The IP restriction lets the address in, and the traffic policy does not. */
const BY_TRAFFIC_POLICY = 'traffic_policy';
const BEYOND = `\`too_many_ip_policies\`, \`too_many_ip_rules\`: it has more than ${MAX_IP_POLICIES} IP policies, or ${MAX_IP_RULES} rules in them`;
const UNREADABLE = 'traffic_policy_unreadable';

export class EdgeCheck {
  @ApiField({
    description: 'Whether the IP restriction and the traffic policy of the edge let the address in.',
    example: true,
  })
  allowed!: boolean;
  @ApiField({
    description:
      'Reason for the answer. `allowed`: a rule allows the address and none denies it. `policy_unknown`: the edge names a policy ' +
      'that does not exist, and no rule denies it. `restriction_disabled`, `no_restriction`: all are let in. `traffic_policy`: ' +
      `only the traffic policy keeps it out. ${BEYOND}: the edge is closed.`,
    enum: [...IP_REASONS, BY_TRAFFIC_POLICY, ...BEYOND_MAXIMUM],
    example: 'allowed',
  })
  reason!: IpReason | typeof BY_TRAFFIC_POLICY | BeyondMaximum;
  @ApiField({
    description: 'The rule by which the IP restriction decided; null if none did.',
    type: MatchedIpRule,
    nullable: true,
  })
  matched_rule!: MatchedIpRule | null;
  @ApiField({ description: 'The policy of this rule; null if no rule decided.', type: IpPolicyRef, nullable: true })
  ip_policy!: IpPolicyRef | null;
  @ApiField({
    description: 'The policies that the IP restriction names and that do not exist.',
    listOf: IpPolicyRef,
    example: [],
  })
  unknown_ip_policies!: IpPolicyRef[];
  @ApiField({
    description:
      'What the traffic policy does. Null if none is enabled, or if the IP restriction keeps the address out.',
    type: TrafficPolicyCheck,
    nullable: true,
  })
  traffic_policy!: TrafficPolicyCheck | null;
}

/** Why an edge is served nowhere any more. */
export const EXPIRED = 'edge_expired';

export class NotServedHostport {
  @ApiField({ description: 'The hostport, as the edge lists it.', example: '1.tcp.example.com:20000' })
  hostport!: string;
  @ApiField({
    description:
      'Why. `reserved_elsewhere`: another account has reserved the hostport, or a domain that covers its host. ' +
      '`not_reserved`: it is in a pool and nobody has reserved it, or its reservation was deleted a ' +
      `short time ago. ${BEYOND}. \`${UNREADABLE}\`: the traffic policy cannot be applied, see \`traffic_policy.error\`. \`${EXPIRED}\`: it has expired.`,
    enum: [...RESERVATION_REASONS, ...BEYOND_MAXIMUM, UNREADABLE, EXPIRED],
    example: 'not_reserved',
  })
  reason!: ReservationReason | BeyondMaximum | typeof UNREADABLE | typeof EXPIRED;
}

export class TcpEdgeCheck extends EdgeCheck {
  @ApiField({
    description: 'The hostports that reservations keep from the edge.',
    listOf: NotServedHostport,
    example: [],
  })
  not_served!: NotServedHostport[];
  @ApiField(NOT_CONSIDERED) not_considered?: readonly string[];
}

export function toEdgeCheck(
  decision: IpDecision,
  traffic: TrafficPolicyCheck | null,
  beyond: BeyondMaximum | undefined,
  baseUrl: string,
): EdgeCheck {
  const { allowed, reason, rule, policyId, unknownPolicyIds } = decision;
  const policyRef = (id: string): IpPolicyRef => ({ id, uri: `${baseUrl}${IP_POLICY.pathOf(id)}` });
  return {
    allowed: allowed && traffic?.allowed !== false && beyond === undefined,
    reason: beyond ?? (traffic?.allowed === false ? BY_TRAFFIC_POLICY : reason),
    matched_rule: rule === undefined ? null : toMatchedRule(rule, baseUrl),
    ip_policy: policyId === undefined ? null : policyRef(policyId),
    unknown_ip_policies: unknownPolicyIds.map(policyRef),
    traffic_policy: traffic,
  };
}

const toMatchedRule = ({ id, cidr, action }: IpRule, baseUrl: string): MatchedIpRule => ({
  id,
  uri: `${baseUrl}/${IP_POLICY_RULES.path}/${id}`,
  cidr,
  action,
});

export class ResolvedIpRule {
  @ApiField(RULE_ID) id!: string;
  @ApiField(CIDR) cidr!: string;
  @ApiField(ACTION) action!: IpRule['action'];
}

export class ResolvedIpPolicy {
  @ApiField({ description: 'Id, as the edge names it.', example: `ipp_${EXAMPLE_KSUID}` }) id!: string;
  @ApiField({
    description: 'Whether the policy exists. If it does not, an enabled restriction that names it lets no address in.',
    example: true,
  })
  exists!: boolean;
  @ApiField({
    description:
      'The rules, oldest first. Null if the policy does not exist, if the question has a `source`, or if the edge has too many: see `ip_policies_error`.',
    listOf: ResolvedIpRule,
    nullable: true,
  })
  rules!: ResolvedIpRule[] | null;
}

export class ResolvedTunnelGroup {
  @ApiField({ description: 'Id of the tunnel group.', example: `bkdtg_${EXAMPLE_KSUID}` }) id!: string;
  @ApiField({
    description: 'Labels that a tunnel must have, with their values.',
    type: 'object',
    additionalProperties: true,
    example: { app: 'build' },
  })
  labels!: Readonly<Record<string, string>>;
}

export class ListedEdge {
  @ApiField({
    description: 'Id of the account that the edge belongs to.',
    pattern: idPattern('ac'),
    example: `ac_${EXAMPLE_KSUID}`,
  })
  account_id!: string;
  @ApiField({
    description: `The TCP edge. The \`value\` of a traffic policy of more than ${MAX_READ_POLICY_BYTES} bytes is left out, and empty.`,
    type: TcpEdgeResource,
  })
  edge!: TcpEdgeResource;
  @ApiField({
    description:
      'The IP policies that the IP restriction names, then those that the enabled traffic policy names, each once.',
    listOf: ResolvedIpPolicy,
  })
  ip_policies!: ResolvedIpPolicy[];
  @ApiField({
    description: `Why the edge is closed, as a sentence: it has more than ${MAX_IP_POLICIES} IP policies, or ${MAX_IP_RULES} rules in them. Null if it has not. Let no client in by such an edge.`,
    type: 'string',
    nullable: true,
    example: null,
  })
  ip_policies_error!: string | null;
  @ApiField({
    description:
      'Why the enabled traffic policy of the edge cannot be applied, as a sentence. Null if it can, or if there is none. ' +
      'Let no client in by an edge with such a policy.',
    type: 'string',
    nullable: true,
    example: null,
  })
  traffic_policy_error!: string | null;
  @ApiField({
    description:
      'The tunnel group of the backend; null if the edge has no backend, or one that this service does not have.',
    type: ResolvedTunnelGroup,
    nullable: true,
  })
  tunnel_group!: ResolvedTunnelGroup | null;
  @ApiField({ description: 'Answer for `source`; null without one.', type: EdgeCheck, nullable: true })
  check!: EdgeCheck | null;
}

const OTHERS = {
  description: `How many other edges list the hostport, at most ${MAX_EDGES_OF_A_HOSTPORT}.`,
  type: 'integer',
  example: 0,
} as const;
const SERVED = `of the first ${MAX_EDGES_OF_A_HOSTPORT} edges that list the hostport and may be served there, in the order in which they listed it, the first one whose backend is enabled; null if there is none`;

export class EdgeOfHostport {
  @ApiField({ description: `The edge that is served at the hostport: ${SERVED}.`, type: ListedEdge, nullable: true })
  edge!: ListedEdge | null;
  @ApiField(OTHERS) others!: number;
}

export class AnswerAboutHostport {
  @ApiField({ description: 'The hostport, in canonical form.', example: '1.tcp.example.com:20000' }) hostport!: string;
  @ApiField({
    description: `Id of the edge that is served there: ${SERVED}.`,
    type: 'string',
    nullable: true,
    example: `edgtcp_${EXAMPLE_KSUID}`,
  })
  edge_id!: string | null;
  @ApiField(OTHERS) others!: number;
}

export class EdgesOfHostports {
  @ApiField({ description: 'Each edge that is served at one of the hostports, once.', listOf: ListedEdge })
  edges!: ListedEdge[];
  @ApiField({
    description: `An answer for each hostport, in the order of the question. Hostports are missing if the edges have more than ${MAX_BYTES_OF_AN_ANSWER} bytes as JSON, or take long to read: ask again about the missing ones. The first hostport is never missing.`,
    listOf: AnswerAboutHostport,
  })
  hostports!: AnswerAboutHostport[];
}
