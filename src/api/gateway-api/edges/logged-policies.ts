import type { Past } from '../../../event-log/index.js';
import { isId } from '../../../kernel/ids.js';
import { compilePolicy, type IpPolicies, type IpRule } from '../../../rules/index.js';
import { ipPoliciesReadModel } from '../../ip-policies/ip-policies.read-model.js';
import { ipPolicyRulesReadModel } from '../../ip-policies/ip-policy-rules.read-model.js';
import type { EdgePolicies } from './edge-policies.js';

/** IP policies with their rules as of a moment, folded from the log. EdgePolicies reads the same from the current rows. */
export class LoggedPolicies implements Pick<EdgePolicies, 'deciding' | 'areTooMany'> {
  constructor(private readonly past: Past) {}

  /** All rules of each, of which the address selects one. */
  async deciding(_accountId: string, policyIds: readonly string[]): Promise<IpPolicies> {
    const found = new Map<string, IpRule[]>();
    for (const id of policyIds.filter((one) => isId(one, 'ipp'))) {
      if ((await this.past.entity(ipPoliciesReadModel, id)) !== undefined) found.set(id, []);
    }
    for (const rule of await this.past.mentioning(ipPolicyRulesReadModel, [...found.keys()])) {
      found.get(rule.ip_policy_id)?.push(rule);
    }
    return new Map([...found].map(([id, rules]) => [id, compilePolicy(rules)]));
  }

  /** The log gives fewer rules than the maximum of an edge, or throws Problem. */
  areTooMany(): Promise<boolean> {
    return Promise.resolve(false);
  }
}
