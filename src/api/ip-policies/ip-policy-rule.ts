import { Problem } from '../../kernel/problem.js';
import { type PlainEvent, plainEntity } from '../resources/plain-entity.js';

export const ACTIONS = ['allow', 'deny'] as const;
export type Action = (typeof ACTIONS)[number];

/** One network of an IP policy, and whether connections from it are allowed or denied. */
export interface IpPolicyRule {
  readonly description: string;
  readonly metadata: string;
  readonly ip_policy_id: string;
  /** In canonical form: see parseCidr. */
  readonly cidr: string;
  readonly action: Action;
}

export type IpPolicyRuleEvent = PlainEvent<'ip_policy_rule', IpPolicyRule>;

/** The same for an unknown id and for an id of another account. */
export const ipPolicyRuleNotFound = (): Problem => new Problem('ip_policy_rule_not_found', 'Resource not found');

export const ipPolicyRule = plainEntity<'ip_policy_rule', IpPolicyRule>('ip_policy_rule', ipPolicyRuleNotFound);

export function parseAction(text: string | undefined): Action {
  const action = ACTIONS.find((one) => one === text);
  if (action !== undefined) return action;
  throw new Problem('ip_policy_rule_action_invalid', "action must be 'allow' or 'deny'.");
}
