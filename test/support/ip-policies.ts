import type { ApiClient } from './api-client.js';

/** A policy with rules as `+10.0.0.0/8` (allow) and `-10.1.0.0/16` (deny). Returns its id, and its rules by their text. */
export async function makeIpPolicy(client: ApiClient, rules: readonly string[]) {
  const { id } = await client.create('/ip_policies', {});
  const made: Record<string, { readonly id: string; readonly uri: string }> = {};
  for (const rule of rules) {
    const action = rule.startsWith('+') ? 'allow' : 'deny';
    made[rule] = await client.create('/ip_policy_rules', { ip_policy_id: id, cidr: rule.slice(1), action });
  }
  return { id: id as string, rules: made };
}
