import { Controller, Delete, Get, HttpCode, Param, Patch, Post } from '@nestjs/common';
import { CommandBus } from '@nestjs/cqrs';
import { ApiCreate, ApiDelete, ApiGet, ApiHistory, ApiList, ApiTag, ApiUpdate } from '../http/openapi/decorators.js';
import { Context, Read, type ReadRequest, type RequestContext } from '../http/request-context.js';
import { Body } from '../http/validated-body.js';
import { HistoryResource } from '../resources/history.resource.js';
import { Reads } from '../resources/reads.js';
import { CreateIpPolicy, DeleteIpPolicy, UpdateIpPolicy } from './ip-policies.handlers.js';
import { CreateIpPolicyBody, IP_POLICIES, IpPolicyResource, UpdateIpPolicyBody } from './ip-policies.resource.js';

@ApiTag('IP policies', 'ipp')
@Controller(IP_POLICIES.path)
export class IpPoliciesController {
  constructor(
    private readonly commands: CommandBus,
    private readonly reads: Reads,
  ) {}

  @Post()
  @ApiCreate(IpPolicyResource, { id: 'createIpPolicy', summary: 'Create an IP policy' })
  create(@Context() context: RequestContext, @Body() body: CreateIpPolicyBody) {
    return this.commands.execute(new CreateIpPolicy(context, body));
  }

  @Get()
  @ApiList(IpPolicyResource, IP_POLICIES.path, {
    id: 'listIpPolicies',
    summary: 'List IP policies',
    creation: [CreateIpPolicyBody],
  })
  list(@Read() request: ReadRequest) {
    return this.reads.list(IP_POLICIES, request);
  }

  @Get(':id')
  @ApiGet(IpPolicyResource, { id: 'getIpPolicy', summary: 'Get an IP policy', problems: ['ip_policy_not_found'] })
  get(@Read() request: ReadRequest, @Param('id') id: string) {
    return this.reads.get(IP_POLICIES, request, id);
  }

  @Get(':id/events')
  @ApiHistory(HistoryResource, 'IpPolicy', 'an IP policy', 'ip_policy_not_found')
  history(@Read() request: ReadRequest, @Param('id') id: string) {
    return this.reads.history(IP_POLICIES, request, id);
  }

  @Patch(':id')
  @ApiUpdate(IpPolicyResource, {
    id: 'updateIpPolicy',
    summary: 'Update an IP policy',
    description: 'An absent or null field stays as it is; an empty text clears.',
    problems: ['ip_policy_not_found'],
  })
  update(@Context() context: RequestContext, @Param('id') id: string, @Body() body: UpdateIpPolicyBody) {
    return this.commands.execute(new UpdateIpPolicy(context, id, body));
  }

  @Delete(':id')
  @HttpCode(204)
  @ApiDelete({
    id: 'deleteIpPolicy',
    summary: 'Delete an IP policy',
    description:
      'Its rules are deleted too. An edge that names the policy keeps its id, and its IP restriction, if enabled, lets no client in. ' +
      'In strict mode a policy that an edge names cannot be deleted (409).',
    problems: ['ip_policy_not_found', 'conflict'],
  })
  delete(@Context() context: RequestContext, @Param('id') id: string) {
    return this.commands.execute(new DeleteIpPolicy(context, id));
  }
}
