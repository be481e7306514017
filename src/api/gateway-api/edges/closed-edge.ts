import { type IpRestriction, MAX_IP_POLICIES, MAX_IP_RULES } from '../../../rules/index.js';

/** Why an edge is closed at every hostport: it was made before a maximum, or its IP policies have grown. */
export const BEYOND_MAXIMUM = ['too_many_ip_policies', 'too_many_ip_rules'] as const;
export type BeyondMaximum = (typeof BEYOND_MAXIMUM)[number];

const SENTENCES: Readonly<Record<BeyondMaximum, string>> = {
  too_many_ip_policies: `the IP restriction names more than ${MAX_IP_POLICIES} IP policies.`,
  too_many_ip_rules: `the IP policies of the edge have more than ${MAX_IP_RULES} rules in all.`,
};

export const sentenceOf = (beyond: BeyondMaximum | undefined): string | null => (beyond ? SENTENCES[beyond] : null);

export function beyondMaximum(
  { ip_restriction: restriction }: { readonly ip_restriction: Pick<IpRestriction, 'ip_policy_ids'> | null },
  hasTooManyRules: boolean,
): BeyondMaximum | undefined {
  if (restriction !== null && restriction.ip_policy_ids.length > MAX_IP_POLICIES) return 'too_many_ip_policies';
  return hasTooManyRules ? 'too_many_ip_rules' : undefined;
}
