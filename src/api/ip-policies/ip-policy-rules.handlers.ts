import { CommandHandler, type ICommandHandler } from '@nestjs/cqrs';
import { omitUndefined } from '../../kernel/omit-undefined.js';
import { malformed, Problem, quoted } from '../../kernel/problem.js';
import { MAX_IP_RULES, parseCidr } from '../../rules/index.js';
import { Changes } from '../resources/changes.js';
import { CreateCommand, DeleteCommand, UpdateCommand } from '../resources/commands.js';
import { EntityQueries } from '../resources/entity-queries.js';
import { IP_POLICIES } from './ip-policies.resource.js';
import { type IpPolicyRule, ipPolicyRule, parseAction } from './ip-policy-rule.js';
import {
  CIDR_CONSTRAINT,
  POLICY_DELETED_CONSTRAINT,
  RulesOfPolicies,
  TOO_MANY_RULES_CONSTRAINT,
} from './ip-policy-rules.read-model.js';
import {
  type CreateIpPolicyRuleBody,
  IP_POLICY_RULES,
  type UpdateIpPolicyRuleBody,
} from './ip-policy-rules.resource.js';

export class CreateIpPolicyRule extends CreateCommand<CreateIpPolicyRuleBody> {}
export class UpdateIpPolicyRule extends UpdateCommand<UpdateIpPolicyRuleBody> {}
export class DeleteIpPolicyRule extends DeleteCommand {}

@CommandHandler(CreateIpPolicyRule)
class CreateIpPolicyRuleHandler implements ICommandHandler<CreateIpPolicyRule> {
  constructor(
    private readonly changes: Changes,
    private readonly entities: EntityQueries,
    private readonly rules: RulesOfPolicies,
  ) {}

  execute({ context, body }: CreateIpPolicyRule) {
    const rule = parseRule(body);
    const decide = async () => {
      await this.requireRoom(context.accountId, rule.ip_policy_id);
      return ipPolicyRule.create(rule);
    };
    const refusals = {
      [CIDR_CONSTRAINT]: () => ruleExists(rule.cidr),
      [POLICY_DELETED_CONSTRAINT]: () => unknownPolicy(rule.ip_policy_id),
      [TOO_MANY_RULES_CONSTRAINT]: tooManyRules,
    };
    return this.changes.create(IP_POLICY_RULES, context, decide, { maximum: MAX_IP_RULES, refusals });
  }

  /** Throws Problem if the policy does not exist, or has its maximum of rules. */
  private async requireRoom(accountId: string, id: string): Promise<void> {
    const policy = { accountId, id };
    if ((await this.entities.find(IP_POLICIES, policy)) === undefined) throw unknownPolicy(id);
    if ((await this.rules.count(policy, MAX_IP_RULES)) < MAX_IP_RULES) return;
    throw tooManyRules();
  }
}

@CommandHandler(UpdateIpPolicyRule)
class UpdateIpPolicyRuleHandler implements ICommandHandler<UpdateIpPolicyRule> {
  constructor(private readonly changes: Changes) {}

  execute({ context, id, body }: UpdateIpPolicyRule) {
    const fields = parseChanges(body);
    const refusals = { [CIDR_CONSTRAINT]: () => ruleExists(fields.cidr) };
    const decide = (rule: IpPolicyRule | undefined) => ipPolicyRule.update(rule, fields);
    return this.changes.apply(IP_POLICY_RULES, context, id, decide, { sent: body, refusals });
  }
}

@CommandHandler(DeleteIpPolicyRule)
class DeleteIpPolicyRuleHandler implements ICommandHandler<DeleteIpPolicyRule> {
  constructor(private readonly changes: Changes) {}

  execute({ context, id }: DeleteIpPolicyRule) {
    return this.changes.apply(IP_POLICY_RULES, context, id, (rule) => ipPolicyRule.remove(rule));
  }
}

/** Throws Problem. */
function parseRule(body: CreateIpPolicyRuleBody): IpPolicyRule {
  const { description = '', metadata = '' } = body;
  const [cidr, action, ip_policy_id] = [readCidr(body.cidr), parseAction(body.action), policyIdOf(body)];
  return { description, metadata, ip_policy_id, cidr, action };
}

/** The fields that a change gives. Throws Problem. */
const parseChanges = ({ description, metadata, cidr }: UpdateIpPolicyRuleBody) =>
  omitUndefined({ description, metadata, cidr: cidr === undefined ? undefined : readCidr(cidr) });

/** Throws Problem. */
function readCidr(text: string | undefined): string {
  if (text) return parseCidr(text, 'cidr', { malformed: 'cidr_malformed', hostBits: 'cidr_host_bits' });
  throw new Problem('cidr_missing', 'cidr is missing; send a network such as 192.0.2.0/24.');
}

/** The id of the policy in a POST: in the public API's form, as GET shows it, or in both forms if they agree. */
function policyIdOf({ ip_policy_id, ip_policy }: CreateIpPolicyRuleBody): string {
  const id = ip_policy_id ?? ip_policy?.id;
  if (id === undefined) {
    throw new Problem('ip_policy_unknown', 'ip_policy_id is missing; send the id of an IP policy.');
  }
  if (id !== (ip_policy?.id ?? id)) {
    throw malformed('ip_policy_id and ip_policy name different ids; send one of the two.');
  }
  // One service may be reached by several names, so only the path counts.
  if (ip_policy?.uri === undefined || ip_policy.uri.endsWith(`/${IP_POLICIES.path}/${id}`)) return id;
  const wayOut = 'omit it, or send the one that GET shows';
  throw malformed(`ip_policy.uri is not the URI of ${quoted(id)}: ${wayOut}.`);
}

const unknownPolicy = (id: string): Problem =>
  new Problem('ip_policy_unknown', `ip_policy_id ${quoted(id)} is not the id of an IP policy.`);

const tooManyRules = (): Problem =>
  new Problem('conflict', `The IP policy has at least ${MAX_IP_RULES} rules, and takes no more.`);

/** The cidr is in canonical form, so it is a network and not a misplaced secret. */
const ruleExists = (cidr = ''): Problem =>
  new Problem('ip_policy_rule_exists', `The IP policy already has a rule with the cidr '${cidr}'.`);

export const IP_POLICY_RULE_HANDLERS = [
  CreateIpPolicyRuleHandler,
  UpdateIpPolicyRuleHandler,
  DeleteIpPolicyRuleHandler,
];
