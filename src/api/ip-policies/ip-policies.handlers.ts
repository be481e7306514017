import type { Ref } from '../../database/index.js';
import type { StreamAppend } from '../../event-log/index.js';
import { omitUndefined } from '../../kernel/omit-undefined.js';
import { Changes } from '../resources/changes.js';
import { EdgeReferences, NAMED_CONSTRAINT, repeatedOn } from '../resources/edge-references.js';
import { handlerOf } from '../resources/handler-of.js';
import { CreateIpPolicy, DeleteIpPolicy, IP_POLICIES, UpdateIpPolicy } from './ip-policies.resource.js';
import { type IpPolicy, ipPolicy } from './ip-policy.js';
import { ipPolicyRule } from './ip-policy-rule.js';
import { ipPolicyRulesReadModel, RULES_LEFT_CONSTRAINT, RulesOfPolicies } from './ip-policy-rules.read-model.js';

/** All rules of a policy, in the append of its own deletion: a policy with some of its rules could allow what it denied. */
async function removalsOf(policy: Ref, rules: RulesOfPolicies): Promise<StreamAppend[]> {
  const model = ipPolicyRulesReadModel;
  const all = await rules.list(policy);
  return all.map((before) => ({ model, id: before.id, before, events: ipPolicyRule.remove(before), after: undefined }));
}

export const IP_POLICY_HANDLERS = [
  handlerOf(CreateIpPolicy, [Changes], ({ context, body: { description = '', metadata = '' } }, changes) =>
    changes.create(IP_POLICIES, context, () => ipPolicy.create({ description, metadata })),
  ),

  handlerOf(UpdateIpPolicy, [Changes], ({ context, id, body }, changes) => {
    const { description, metadata } = body;
    const decide = ipPolicy.update(omitUndefined({ description, metadata }));
    return changes.apply(IP_POLICIES, context, id, decide, { sent: body });
  }),

  handlerOf(DeleteIpPolicy, [Changes, RulesOfPolicies, EdgeReferences], ({ context, id }, changes, rules, edges) => {
    const policy = { accountId: context.accountId, id };
    const decide = async (state: IpPolicy | undefined) =>
      // An unknown policy is 404, whatever edges name.
      ipPolicy.remove(state, state && (await edges.refuseNamed(policy.accountId, id, 'IP policy')));
    const alongside = () => removalsOf(policy, rules);
    return repeatedOn([RULES_LEFT_CONSTRAINT, NAMED_CONSTRAINT], () =>
      changes.apply(IP_POLICIES, context, id, decide, { alongside }),
    );
  }),
];
