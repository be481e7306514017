import { malformed } from '../../../kernel/problem.js';
import { MAX_LOG_BYTES, TRAFFIC_REASONS, type TrafficReason } from '../../../rules/index.js';
import { ApiField } from '../../http/openapi/decorators.js';
import { TextOfBytes } from '../../http/validated-body.js';
import { MAX_TRAFFIC_POLICY_BYTES } from '../../tcp-edges/edge-modules.js';
import { IpPolicyRef } from '../../tcp-edges/tcp-edges.resource.js';
import { MAX_SOURCE_BYTES } from '../binds/binds.resource.js';

const EXAMPLE_PLACE = 'on_tcp_connect[0].actions[0]';
const REASONS = [...TRAFFIC_REASONS, 'unreadable'];

export const SOURCE = {
  description: 'Address of a client, as an address or as `address:port` with IPv6 in brackets.',
  example: '203.0.113.9',
};
export const DESTINATION = {
  description: 'Address and port that the client connected to, for `conn.server_ip` and `conn.server_port`.',
  example: '192.0.2.1:20000',
};

export class TrafficPolicyCheckBody {
  @TextOfBytes(MAX_TRAFFIC_POLICY_BYTES, 'request_malformed', {
    description: 'The text of a traffic policy, in JSON or YAML.',
    required: true,
    example: '{"on_tcp_connect": [{"actions": [{"type": "deny"}]}]}',
  })
  value?: string;
  @TextOfBytes(MAX_SOURCE_BYTES, 'request_malformed', { ...SOURCE, required: true }) source?: string;
  @TextOfBytes(MAX_SOURCE_BYTES, 'request_malformed', {
    ...DESTINATION,
    description: `${DESTINATION.description} Absent: \`0.0.0.0\` or \`::\`, and port 0.`,
  })
  destination?: string;
}

/** Throws request_malformed. */
export function readValue({ value }: TrafficPolicyCheckBody): string {
  if (value === undefined) throw malformed('value is missing; send the text of a traffic policy.');
  return value;
}

class DecidingRule {
  @ApiField({ description: 'Its place among the rules, from 0 on.', type: 'integer', example: 0 }) index!: number;
  @ApiField({
    description: 'Its name; null if it has none.',
    type: 'string',
    nullable: true,
    example: 'only the office',
  })
  name!: string | null;
}

export class PolicyLog {
  @ApiField({ description: 'Place of the action `log`.', example: EXAMPLE_PLACE }) place!: string;
  @ApiField({
    description: 'What it says.',
    type: 'object',
    additionalProperties: true,
    example: { message: 'from 203.0.113.9' },
  })
  metadata!: unknown;
}

export class TrafficPolicyCheck {
  @ApiField({ description: 'Whether the traffic policy lets the client in.', example: false }) allowed!: boolean;
  @ApiField({
    description:
      'Reason for the answer. `no_action_ends`, `policy_disabled`: the client is let in. `denied`, `connection_closed`, ' +
      '`ip_restricted`: an action of `deny`, `close-connection` or `restrict-ips` decided. `expression_failed`: an expression of a rule ' +
      'that could end the connection has no value. `too_many_steps`: the policy takes longer than a connection may wait. ' +
      '`unreadable`: the policy cannot be applied, see `error`.',
    enum: REASONS,
    example: 'denied',
  })
  reason!: TrafficReason | 'unreadable';
  @ApiField({
    description: 'Place of the action that decided, or of the expression that failed; null if none did.',
    type: 'string',
    nullable: true,
    example: EXAMPLE_PLACE,
  })
  place!: string | null;
  @ApiField({ description: 'The rule that decided; null if none did.', type: DecidingRule, nullable: true })
  rule!: DecidingRule | null;
  @ApiField({
    description: 'Type of the action that decided; null if none did.',
    type: 'string',
    nullable: true,
    example: 'deny',
  })
  action!: string | null;
  @ApiField({
    description: 'For `ip_restricted`, the network that denies the client; null if none does.',
    type: 'string',
    nullable: true,
    example: '203.0.113.0/24',
  })
  matched_cidr!: string | null;
  @ApiField({
    description: 'The IP policy that has this network; null if the action itself has it.',
    type: IpPolicyRef,
    nullable: true,
  })
  ip_policy!: IpPolicyRef | null;
  @ApiField({
    description: 'Why the policy cannot be applied, as a sentence; null if it can.',
    type: 'string',
    nullable: true,
    example: null,
  })
  error!: string | null;
  @ApiField({ description: 'What actions of `log` say, in their order.', listOf: PolicyLog, example: [] })
  logs!: readonly PolicyLog[];
  @ApiField({
    description: `How many logs are left out, since all of a connection have at most ${MAX_LOG_BYTES} bytes as JSON.`,
    type: 'integer',
    example: 0,
  })
  logs_left_out!: number;
  @ApiField({
    description:
      'Sentences about what did not decide: expressions that failed, restrictions that are not enforced, IP policies that do not exist.',
    type: 'array',
    items: { type: 'string' },
    example: [],
  })
  notes!: readonly string[];
}
