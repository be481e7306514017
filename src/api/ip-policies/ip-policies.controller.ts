import { controllerOf } from '../resources/routes/resource-routes.js';
import {
  CreateIpPolicy,
  CreateIpPolicyBody,
  DeleteIpPolicy,
  IP_POLICIES,
  IpPolicyResource,
  UpdateIpPolicy,
  UpdateIpPolicyBody,
} from './ip-policies.resource.js';

export const IpPoliciesController = controllerOf(IP_POLICIES, {
  names: ['IpPolicy', 'IpPolicies'],
  nouns: ['an IP policy', 'IP policies'],
  answer: IpPolicyResource,
  create: { command: CreateIpPolicy, body: CreateIpPolicyBody },
  update: {
    command: UpdateIpPolicy,
    body: UpdateIpPolicyBody,
    description: 'An absent or null field stays as it is; an empty text clears.',
    problems: ['ip_policy_not_found'],
  },
  delete: {
    command: DeleteIpPolicy,
    description:
      'Its rules are deleted too. An edge that names the policy keeps its id, and its IP restriction, if enabled, lets no client in. ' +
      'In strict mode a policy that an edge names cannot be deleted (409).',
    problems: ['ip_policy_not_found', 'conflict'],
  },
});
