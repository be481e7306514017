import { CommandHandler, type ICommandHandler } from '@nestjs/cqrs';
import type { Ref } from '../../database/index.js';
import type { StreamAppend } from '../../event-log/index.js';
import { omitUndefined } from '../../kernel/omit-undefined.js';
import { Changes } from '../resources/changes.js';
import { CreateCommand, DeleteCommand, UpdateCommand } from '../resources/commands.js';
import { EdgeReferences, NAMED_CONSTRAINT } from '../resources/edge-references.js';
import { type CreateIpPolicyBody, IP_POLICIES, type UpdateIpPolicyBody } from './ip-policies.resource.js';
import { type IpPolicy, ipPolicy } from './ip-policy.js';
import { ipPolicyRule } from './ip-policy-rule.js';
import { ipPolicyRulesReadModel, RULES_LEFT_CONSTRAINT, RulesOfPolicies } from './ip-policy-rules.read-model.js';

export class CreateIpPolicy extends CreateCommand<CreateIpPolicyBody> {}
export class UpdateIpPolicy extends UpdateCommand<UpdateIpPolicyBody> {}
export class DeleteIpPolicy extends DeleteCommand {}

@CommandHandler(CreateIpPolicy)
class CreateIpPolicyHandler implements ICommandHandler<CreateIpPolicy> {
  constructor(private readonly changes: Changes) {}

  execute({ context, body: { description = '', metadata = '' } }: CreateIpPolicy) {
    return this.changes.create(IP_POLICIES, context, () => ipPolicy.create({ description, metadata }));
  }
}

@CommandHandler(UpdateIpPolicy)
class UpdateIpPolicyHandler implements ICommandHandler<UpdateIpPolicy> {
  constructor(private readonly changes: Changes) {}

  execute({ context, id, body }: UpdateIpPolicy) {
    const { description, metadata } = body;
    const fields = omitUndefined({ description, metadata });
    return this.changes.apply(IP_POLICIES, context, id, (policy) => ipPolicy.update(policy, fields), { sent: body });
  }
}

@CommandHandler(DeleteIpPolicy)
class DeleteIpPolicyHandler implements ICommandHandler<DeleteIpPolicy> {
  constructor(
    private readonly changes: Changes,
    private readonly rules: RulesOfPolicies,
    private readonly edges: EdgeReferences,
  ) {}

  execute({ context, id }: DeleteIpPolicy) {
    const { accountId } = context;
    const decide = async (policy: IpPolicy | undefined) => {
      if (policy === undefined) throw IP_POLICIES.notFound();
      await this.edges.refuseNamed(accountId, id, 'IP policy');
      return ipPolicy.remove(policy, this.edges.deletionData);
    };
    return this.changes.apply(IP_POLICIES, context, id, decide, {
      alongside: () => this.removalsOfRules({ accountId, id }),
      refusals: { [RULES_LEFT_CONSTRAINT]: 'again', [NAMED_CONSTRAINT]: 'again' },
    });
  }

  /**
   * Removes all rules in the append of the policy's own deletion: a policy with only some of its rules could allow what
   * it denied.
   */
  private async removalsOfRules(policy: Ref): Promise<StreamAppend[]> {
    const model = ipPolicyRulesReadModel;
    const all = await this.rules.list(policy);
    return all.map((before) => ({
      model,
      id: before.id,
      before,
      events: ipPolicyRule.remove(before),
      after: undefined,
    }));
  }
}

export const IP_POLICY_HANDLERS = [CreateIpPolicyHandler, UpdateIpPolicyHandler, DeleteIpPolicyHandler];
