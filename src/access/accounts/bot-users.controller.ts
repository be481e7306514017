import { Body, Controller, Delete, Get, HttpCode, Param, Patch, Post } from '@nestjs/common';
import { CommandBus } from '@nestjs/cqrs';
import { ApiCreate, ApiDelete, ApiGet, ApiHistory, ApiList, ApiTag, ApiUpdate } from '../../http/openapi/decorators.js';
import { Context, Read, type ReadRequest, type RequestContext } from '../../http/request-context.js';
import { HistoryResource } from '../../resources/history.resource.js';
import { Reads } from '../../resources/reads.js';
import {
  BOT_USERS,
  BotUserResource,
  CreateBotUser,
  CreateBotUserBody,
  DeleteBotUser,
  UpdateBotUser,
  UpdateBotUserBody,
} from './bot-users.resource.js';

const { path } = BOT_USERS;

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
}
