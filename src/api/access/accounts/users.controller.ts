import { Controller, Delete, Get, HttpCode, Param, Patch, Post } from '@nestjs/common';
import { CommandBus } from '@nestjs/cqrs';
import { ApiCreate, ApiDelete, ApiGet, ApiHistory, ApiList, ApiTag, ApiUpdate } from '../../http/openapi/decorators.js';
import { Context, Read, type ReadRequest, type RequestContext } from '../../http/request-context.js';
import { Body } from '../../http/validated-body.js';
import { HistoryResource } from '../../resources/history.resource.js';
import { Reads } from '../../resources/reads.js';
import { CHANGE_PROBLEMS, CREATION_PROBLEMS } from './principal.js';
import { CreateUser, DeleteUser, UpdateUser } from './users.handlers.js';
import { CreateUserBody, UpdateUserBody, USERS, UserResource } from './users.resource.js';

@ApiTag('Users', 'usr')
@Controller(USERS.path)
export class UsersController {
  constructor(
    private readonly commands: CommandBus,
    private readonly reads: Reads,
  ) {}

  @Post()
  @ApiCreate(UserResource, { id: 'createUser', summary: 'Create a user', problems: CREATION_PROBLEMS })
  create(@Context() context: RequestContext, @Body() body: CreateUserBody) {
    return this.commands.execute(new CreateUser(context, body));
  }

  @Get()
  @ApiList(UserResource, USERS.path, {
    id: 'listUsers',
    summary: 'List users',
    creation: [CreateUserBody],
  })
  list(@Read() request: ReadRequest) {
    return this.reads.list(USERS, request);
  }

  @Get(':id')
  @ApiGet(UserResource, { id: 'getUser', summary: 'Get a user', problems: ['not_found'] })
  get(@Read() request: ReadRequest, @Param('id') id: string) {
    return this.reads.get(USERS, request, id);
  }

  @Get(':id/events')
  @ApiHistory(HistoryResource, {
    id: 'getUserHistory',
    summary: 'Get the history of a user',
    problems: ['not_found', 'role_missing'],
  })
  history(@Read() request: ReadRequest, @Param('id') id: string) {
    return this.reads.history(USERS, request, id);
  }

  @Patch(':id')
  @ApiUpdate(UserResource, {
    id: 'updateUser',
    summary: 'Update a user',
    description:
      'An absent or null field stays as it is. The last active admin of an account must stay an active admin (409).',
    problems: CHANGE_PROBLEMS,
  })
  update(@Context() context: RequestContext, @Param('id') id: string, @Body() body: UpdateUserBody) {
    return this.commands.execute(new UpdateUser(context, id, body));
  }

  @Delete(':id')
  @HttpCode(204)
  @ApiDelete({
    id: 'deleteUser',
    summary: 'Delete a user',
    description:
      'The API keys and SSH credentials of this user are deleted too. The last active admin of an account cannot be deleted (409).',
    problems: CHANGE_PROBLEMS,
  })
  delete(@Context() context: RequestContext, @Param('id') id: string) {
    return this.commands.execute(new DeleteUser(context, id));
  }
}
