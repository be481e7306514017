import { Controller, Delete, Get, HttpCode, Param, Patch, Post } from '@nestjs/common';
import { CommandBus } from '@nestjs/cqrs';
import { ApiCreate, ApiDelete, ApiGet, ApiHistory, ApiList, ApiTag, ApiUpdate } from '../http/openapi/decorators.js';
import { AS_OF, queryParameter } from '../http/openapi/parts.js';
import { Context, Read, type ReadRequest, type RequestContext } from '../http/request-context.js';
import { Body } from '../http/validated-body.js';
import { HistoryResource } from '../resources/history.resource.js';
import { Reads } from '../resources/reads.js';
import { CreateIpPolicyRule, DeleteIpPolicyRule, UpdateIpPolicyRule } from './ip-policy-rules.handlers.js';
import {
  CreateIpPolicyRuleBody,
  IP_POLICY_RULES,
  IpPolicyRuleResource,
  UpdateIpPolicyRuleBody,
} from './ip-policy-rules.resource.js';

const FIELD_PROBLEMS = [
  ...(['ip_policy_rule_description_too_long', 'cidr_missing', 'cidr_malformed'] as const),
  ...(['cidr_host_bits', 'ip_policy_rule_exists'] as const),
] as const;

@ApiTag('Rules of IP policies', 'ipr')
@Controller(IP_POLICY_RULES.path)
export class IpPolicyRulesController {
  constructor(
    private readonly commands: CommandBus,
    private readonly reads: Reads,
  ) {}

  @Post()
  @ApiCreate(IpPolicyRuleResource, {
    id: 'createIpPolicyRule',
    summary: 'Create a rule of an IP policy',
    problems: [...FIELD_PROBLEMS, 'ip_policy_unknown', 'ip_policy_rule_action_invalid', 'conflict'],
  })
  create(@Context() context: RequestContext, @Body() body: CreateIpPolicyRuleBody) {
    return this.commands.execute(new CreateIpPolicyRule(context, body));
  }

  @Get()
  @ApiList(IpPolicyRuleResource, IP_POLICY_RULES.path, {
    id: 'listIpPolicyRules',
    summary: 'List rules of IP policies',
    parameters: [queryParameter('ip_policy_id', 'Only rules of this IP policy.', { type: 'string' }), AS_OF],
    creation: [CreateIpPolicyRuleBody],
  })
  list(@Read() request: ReadRequest) {
    return this.reads.list(IP_POLICY_RULES, request);
  }

  @Get(':id')
  @ApiGet(IpPolicyRuleResource, {
    id: 'getIpPolicyRule',
    summary: 'Get a rule of an IP policy',
    problems: ['ip_policy_rule_not_found'],
  })
  get(@Read() request: ReadRequest, @Param('id') id: string) {
    return this.reads.get(IP_POLICY_RULES, request, id);
  }

  @Get(':id/events')
  @ApiHistory(HistoryResource, 'IpPolicyRule', 'a rule of an IP policy', 'ip_policy_rule_not_found')
  history(@Read() request: ReadRequest, @Param('id') id: string) {
    return this.reads.history(IP_POLICY_RULES, request, id);
  }

  @Patch(':id')
  @ApiUpdate(IpPolicyRuleResource, {
    id: 'updateIpPolicyRule',
    summary: 'Update a rule of an IP policy',
    description: 'An absent or null field stays as it is; an empty text clears.',
    problems: [...FIELD_PROBLEMS, 'ip_policy_rule_not_found'],
  })
  update(@Context() context: RequestContext, @Param('id') id: string, @Body() body: UpdateIpPolicyRuleBody) {
    return this.commands.execute(new UpdateIpPolicyRule(context, id, body));
  }

  @Delete(':id')
  @HttpCode(204)
  @ApiDelete({
    id: 'deleteIpPolicyRule',
    summary: 'Delete a rule of an IP policy',
    problems: ['ip_policy_rule_not_found'],
  })
  delete(@Context() context: RequestContext, @Param('id') id: string) {
    return this.commands.execute(new DeleteIpPolicyRule(context, id));
  }
}
