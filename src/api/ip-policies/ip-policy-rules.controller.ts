import { controllerOf } from '../resources/routes/resource-routes.js';
import {
  CreateIpPolicyRule,
  CreateIpPolicyRuleBody,
  DeleteIpPolicyRule,
  IP_POLICY_RULES,
  IpPolicyRuleResource,
  UpdateIpPolicyRule,
  UpdateIpPolicyRuleBody,
} from './ip-policy-rules.resource.js';

const FIELDS = ['ip_policy_rule_description_too_long', 'cidr_host_bits', 'ip_policy_rule_exists'] as const;

export const IpPolicyRulesController = controllerOf(IP_POLICY_RULES, {
  names: ['IpPolicyRule', 'IpPolicyRules'],
  nouns: ['a rule of an IP policy', 'rules of IP policies'],
  answer: IpPolicyRuleResource,
  create: {
    command: CreateIpPolicyRule,
    body: CreateIpPolicyRuleBody,
    problems: [...FIELDS, 'ip_policy_unknown', 'ip_policy_rule_action_invalid', 'conflict'],
  },
  update: {
    command: UpdateIpPolicyRule,
    body: UpdateIpPolicyRuleBody,
    description: 'An absent or null field stays as it is; an empty text clears.',
    problems: [...FIELDS, 'ip_policy_rule_not_found'],
  },
  delete: { command: DeleteIpPolicyRule, problems: ['ip_policy_rule_not_found'] },
});
