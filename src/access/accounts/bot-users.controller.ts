import { Controller, Delete, Get, HttpCode, Param, Patch, Post, Put } from '@nestjs/common';
import { CommandBus } from '@nestjs/cqrs';
import { RouteConfig } from '@nestjs/platform-fastify';
import { ApiCreate, ApiDelete, ApiGet, ApiHistory, ApiList, ApiTag, ApiUpdate } from '../../http/openapi/decorators.js';
import { Context, Read, type ReadRequest, type RequestContext } from '../../http/request-context.js';
import { Body } from '../../http/validated-body.js';
import { HistoryResource } from '../../resources/history.resource.js';
import { type Found, Reads } from '../../resources/reads.js';
import {
  BOT_USERS,
  BotUserResource,
  BotUserRoleResource,
  ChangeBotUserRole,
  CreateBotUser,
  CreateBotUserBody,
  DeleteBotUser,
  PutBotUserRoleBody,
  UpdateBotUser,
  UpdateBotUserBody,
} from './bot-users.resource.js';
import type { Principal } from './principal.js';

const { path } = BOT_USERS;

/** Renders the role of a bot in place of the bot. */
const ROLE_ONLY = {
  render: ({ entity: { role } }: Found<Principal>) => ({ role }),
};
const NO_BODY = { render: () => undefined };

@ApiTag('Bot users', 'bot')
@Controller(path)
export class BotUsersController {
  constructor(
    private readonly commands: CommandBus,
    private readonly reads: Reads,
  ) {}

  @Post()
  @ApiCreate(BotUserResource, {
    id: 'createBotUser',
    summary: 'Create a bot user',
    problems: ['role_missing', 'conflict'],
  })
  create(@Context() context: RequestContext, @Body() body: CreateBotUserBody) {
    return this.commands.execute(new CreateBotUser(context, body));
  }

  @Get()
  @ApiList(BotUserResource, path, { id: 'listBotUsers', summary: 'List bot users' })
  list(@Read() request: ReadRequest) {
    return this.reads.list(BOT_USERS, request);
  }

  @Get(':id')
  @ApiGet(BotUserResource, { id: 'getBotUser', summary: 'Get a bot user', problems: ['not_found'] })
  get(@Read() request: ReadRequest, @Param('id') id: string) {
    return this.reads.get(BOT_USERS, request, id);
  }

  @Get(':id/events')
  @ApiHistory(HistoryResource, {
    id: 'getBotUserHistory',
    summary: 'Get the history of a bot user',
    problems: ['not_found', 'role_missing'],
  })
  history(@Read() request: ReadRequest, @Param('id') id: string) {
    return this.reads.history(BOT_USERS, request, id);
  }

  @Patch(':id')
  @ApiUpdate(BotUserResource, {
    id: 'updateBotUser',
    summary: 'Update a bot user',
    description: 'An absent or null field stays as it is.',
    problems: ['role_missing', 'not_found', 'conflict'],
  })
  update(@Context() context: RequestContext, @Param('id') id: string, @Body() body: UpdateBotUserBody) {
    return this.commands.execute(new UpdateBotUser(context, id, body));
  }

  @Delete(':id')
  @ApiDelete({
    id: 'deleteBotUser',
    summary: 'Delete a bot user',
    description: 'The API keys and SSH credentials of this bot are deleted too.',
    problems: ['role_missing', 'not_found'],
  })
  @HttpCode(204)
  delete(@Context() context: RequestContext, @Param('id') id: string) {
    return this.commands.execute(new DeleteBotUser(context, id));
  }

  @Put(':id/role')
  @RouteConfig(ROLE_ONLY)
  @ApiUpdate(BotUserRoleResource, {
    id: 'putBotUserRole',
    summary: 'Set the role of a bot user',
    problems: ['not_found'],
  })
  putRole(@Context() context: RequestContext, @Param('id') id: string, @Body() body: PutBotUserRoleBody) {
    return this.commands.execute(new ChangeBotUserRole(context, id, body));
  }

  @Get(':id/role')
  @RouteConfig(ROLE_ONLY)
  @ApiGet(BotUserRoleResource, {
    id: 'getBotUserRole',
    summary: 'Get the role of a bot user',
    problems: ['not_found'],
  })
  getRole(@Read() request: ReadRequest, @Param('id') id: string) {
    return this.reads.get(BOT_USERS, request, id);
  }

  @Delete(':id/role')
  @RouteConfig(NO_BODY)
  @ApiDelete({
    id: 'deleteBotUserRole',
    summary: 'Make a bot user a member',
    description: 'It answers the same if the bot is a member already.',
    problems: ['not_found'],
  })
  @HttpCode(204)
  deleteRole(@Context() context: RequestContext, @Param('id') id: string) {
    return this.commands.execute(new ChangeBotUserRole(context, id, { role: 'member' }));
  }
}
