import type { Address } from './address.js';
import { type CompiledPolicy, decidingRule, type IpRule } from './ip-policy.js';

/** The IP policies of an edge, in the order of the edge. */
export interface IpRestriction {
  readonly enabled: boolean;
  readonly ip_policy_ids: readonly string[];
}

/** The reasons why an edge lets an address in or not. */
export const IP_REASONS = [
  'allowed',
  'denied',
  'no_rule_allows',
  'policy_unknown',
  'restriction_disabled',
  'no_restriction',
] as const;
/** One of IP_REASONS. */
export type IpReason = (typeof IP_REASONS)[number];

/** Whether an edge lets an address in, why, and the rule that decided. */
export interface IpDecision<Rule extends IpRule = IpRule> {
  readonly allowed: boolean;
  readonly reason: IpReason;
  /** The rule that decided, if one did, and the id of its policy. */
  readonly rule?: Rule;
  readonly policyId?: string;
  /** The policies of the restriction that do not exist. */
  readonly unknownPolicyIds: readonly string[];
}

/**
 * Decides over the rules of all policies of an edge together, as in the public API: a rule must allow the address, and
 * no rule may deny it. If a policy does not exist, no address is let in, because the policy may have had a rule that
 * denies.
 */
export function decideSource<Rule extends IpRule>(
  restriction: IpRestriction | null,
  policies: Pick<ReadonlyMap<string, CompiledPolicy<Rule>>, 'get' | 'has'>,
  address: Address,
): IpDecision<Rule> {
  if (restriction === null) return { allowed: true, reason: 'no_restriction', unknownPolicyIds: [] };
  const ids = [...new Set(restriction.ip_policy_ids)];
  const unknownPolicyIds = ids.filter((id) => !policies.has(id));
  if (!restriction.enabled) return { allowed: true, reason: 'restriction_disabled', unknownPolicyIds };
  const matches = ids.flatMap((policyId) => {
    const policy = policies.get(policyId);
    const rule = policy && decidingRule(policy, address);
    return rule === undefined ? [] : [{ policyId, rule }];
  });
  const denial = matches.find(({ rule }) => rule.action === 'deny');
  if (denial !== undefined) return { allowed: false, reason: 'denied', ...denial, unknownPolicyIds };
  if (unknownPolicyIds.length > 0) return { allowed: false, reason: 'policy_unknown', unknownPolicyIds };
  const [permission] = matches;
  if (permission === undefined) return { allowed: false, reason: 'no_rule_allows', unknownPolicyIds };
  return { allowed: true, reason: 'allowed', ...permission, unknownPolicyIds };
}
