import type { Entity } from '../../event-log/index.js';
import { ApiField, ApiSchemaName } from '../http/openapi/decorators.js';
import { idField, uriField } from '../http/openapi/parts.js';
import { ObjectOf, Text } from '../http/validated-body.js';
import {
  Description,
  describedResource,
  Envelope,
  Metadata,
  READ_ONLY,
  ReadOnly,
  textFields,
} from '../resources/fields.js';
import type { ResourceDescriptor } from '../resources/resource-descriptor.js';
import {
  ACTIONS,
  type Action,
  type IpPolicyRule,
  type IpPolicyRuleEvent,
  ipPolicyRuleNotFound,
} from './ip-policy-rule.js';
import { ipPolicyRulesReadModel, OF_POLICY } from './ip-policy-rules.read-model.js';

const PATH = 'ip_policy_rules';
const TEXTS = textFields('Office in Berlin', '{"floor":2}');
const POLICY = { id: idField('ipp'), uri: uriField('ip_policies', 'ipp') };
const CIDR = {
  description:
    'A network or an address, IPv4 or IPv6, without bits after its prefix. Kept in canonical form. An IPv4-mapped IPv6 address counts as IPv4. A policy has one rule for a network.',
  example: '192.0.2.0/24',
};
const ACTION = {
  description: 'Whether connections from the network are allowed or denied.',
  enum: ACTIONS,
  example: 'allow',
};

/** A reference in the form of an answer, in a body that is sent back. */
class RefBody {
  @ReadOnly() id?: string;
  @ReadOnly() uri?: string;
}

/** The same in a POST, where its id counts. */
class PolicyBody {
  @Text(POLICY.id) id?: string;
  @Text({ description: 'Read-only: omit it, or send the URI that belongs to `id`.' }) uri?: string;
}
const POLICY_AS_SHOWN = 'In place of `ip_policy_id`: the IP policy as GET shows it. Both at once must name the same.';

export class CreateIpPolicyRuleBody extends Envelope {
  @Description('ip_policy_rule_description_too_long', TEXTS.description) description?: string;
  @Metadata('request_malformed', TEXTS.metadata) metadata?: string;
  @Text({ ...CIDR, required: true }) cidr?: string;
  @Text({
    description: 'Id of the IP policy that the rule belongs to. Required, here or in `ip_policy`.',
    example: POLICY.id.example,
  })
  ip_policy_id?: string;
  @ObjectOf(PolicyBody, { description: POLICY_AS_SHOWN, example: null }) ip_policy?: PolicyBody;
  @Text({ ...ACTION, required: true }) action?: string;
}

export class UpdateIpPolicyRuleBody extends Envelope {
  @Description('ip_policy_rule_description_too_long', TEXTS.description) description?: string;
  @Metadata('request_malformed', TEXTS.metadata) metadata?: string;
  @Text(CIDR) cidr?: string;
  @ReadOnly() action?: string;
  @ObjectOf(RefBody, { ...READ_ONLY, example: null }) ip_policy?: RefBody;
}

@ApiSchemaName('RuleIpPolicy')
class PolicyOfRule {
  @ApiField(POLICY.id) id!: string;
  @ApiField(POLICY.uri) uri!: string;
}

@ApiSchemaName('IpPolicyRule')
export class IpPolicyRuleResource extends describedResource(PATH, 'ipr', TEXTS) {
  @ApiField(CIDR) cidr!: string;
  @ApiField({ description: 'The policy that the rule belongs to.', type: PolicyOfRule }) ip_policy!: PolicyOfRule;
  @ApiField(ACTION) action!: Action;
}

export const IP_POLICY_RULES: ResourceDescriptor<IpPolicyRule, IpPolicyRuleEvent> = {
  model: ipPolicyRulesReadModel,
  idPrefix: 'ipr',
  path: PATH,
  readOnlyFields: ['action', 'ip_policy'],
  filters: [OF_POLICY],
  notFound: ipPolicyRuleNotFound,
  toResource,
};

function toResource(rule: Entity<IpPolicyRule>, baseUrl: string): IpPolicyRuleResource {
  const { id, created_at, description, metadata, cidr, ip_policy_id, action } = rule;
  const uri = `${baseUrl}/${PATH}/${id}`;
  const ip_policy = { id: ip_policy_id, uri: `${baseUrl}/ip_policies/${ip_policy_id}` };
  return { id, uri, created_at: created_at.toISOString(), description, metadata, cidr, ip_policy, action };
}
