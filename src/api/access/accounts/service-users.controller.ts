import { Controller, Delete, Get, HttpCode, Param, Patch, Post } from '@nestjs/common';
import { CommandBus } from '@nestjs/cqrs';
import { ApiCreate, ApiDelete, ApiGet, ApiHistory, ApiList, ApiTag, ApiUpdate } from '../../http/openapi/decorators.js';
import { Context, Read, type ReadRequest, type RequestContext } from '../../http/request-context.js';
import { Body } from '../../http/validated-body.js';
import { HistoryResource } from '../../resources/history.resource.js';
import { Reads } from '../../resources/reads.js';
import { CreateBotUser, DeleteBotUser, UpdateBotUser } from './bot-users.handlers.js';
import { CreateBotUserBody, SERVICE_USERS, ServiceUserResource, UpdateBotUserBody } from './bot-users.resource.js';
import { CHANGE_PROBLEMS, CREATION_PROBLEMS } from './principal.js';

@ApiTag('Service users', 'bot')
@Controller(SERVICE_USERS.path)
export class ServiceUsersController {
  constructor(
    private readonly commands: CommandBus,
    private readonly reads: Reads,
  ) {}

  @Post()
  @ApiCreate(ServiceUserResource, {
    id: 'createServiceUser',
    summary: 'Create a service user',
    problems: CREATION_PROBLEMS,
  })
  create(@Context() context: RequestContext, @Body() body: CreateBotUserBody) {
    return this.commands.execute(new CreateBotUser(context, body));
  }

  @Get()
  @ApiList(ServiceUserResource, SERVICE_USERS.path, {
    id: 'listServiceUsers',
    summary: 'List service users',
    creation: [CreateBotUserBody],
  })
  list(@Read() request: ReadRequest) {
    return this.reads.list(SERVICE_USERS, request);
  }

  @Get(':id')
  @ApiGet(ServiceUserResource, { id: 'getServiceUser', summary: 'Get a service user', problems: ['not_found'] })
  get(@Read() request: ReadRequest, @Param('id') id: string) {
    return this.reads.get(SERVICE_USERS, request, id);
  }

  @Get(':id/events')
  @ApiHistory(HistoryResource, {
    id: 'getServiceUserHistory',
    summary: 'Get the history of a service user',
    problems: ['not_found', 'role_missing'],
  })
  history(@Read() request: ReadRequest, @Param('id') id: string) {
    return this.reads.history(SERVICE_USERS, request, id);
  }

  @Patch(':id')
  @ApiUpdate(ServiceUserResource, {
    id: 'updateServiceUser',
    summary: 'Update a service user',
    description: 'An absent or null field stays as it is.',
    problems: CHANGE_PROBLEMS,
  })
  update(@Context() context: RequestContext, @Param('id') id: string, @Body() body: UpdateBotUserBody) {
    return this.commands.execute(new UpdateBotUser(context, id, body));
  }

  @Delete(':id')
  @HttpCode(204)
  @ApiDelete({
    id: 'deleteServiceUser',
    summary: 'Delete a service user',
    description: 'The API keys and SSH credentials of this bot are deleted too.',
    problems: CHANGE_PROBLEMS,
  })
  delete(@Context() context: RequestContext, @Param('id') id: string) {
    return this.commands.execute(new DeleteBotUser(context, id));
  }
}
