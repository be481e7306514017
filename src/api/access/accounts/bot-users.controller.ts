import { Controller, Delete, Get, HttpCode, Param, Patch, Post, Put } from '@nestjs/common';
import { CommandBus } from '@nestjs/cqrs';
import { ApiCreate, ApiDelete, ApiGet, ApiHistory, ApiList, ApiTag, ApiUpdate } from '../../http/openapi/decorators.js';
import { Context, Read, type ReadRequest, type RequestContext } from '../../http/request-context.js';
import { Body } from '../../http/validated-body.js';
import { HistoryResource } from '../../resources/history.resource.js';
import { Reads } from '../../resources/reads.js';
import { ShowNothing, ShowPart } from '../../resources/show-part.js';
import { ChangeBotUserRole, CreateBotUser, DeleteBotUser, UpdateBotUser } from './bot-users.handlers.js';
import {
  BOT_USERS,
  BotUserResource,
  BotUserRoleResource,
  CreateBotUserBody,
  PutBotUserRoleBody,
  UpdateBotUserBody,
} from './bot-users.resource.js';
import { CHANGE_PROBLEMS, CREATION_PROBLEMS, type Principal } from './principal.js';

@ApiTag('Bot users', 'bot')
@Controller(BOT_USERS.path)
export class BotUsersController {
  constructor(
    private readonly commands: CommandBus,
    private readonly reads: Reads,
  ) {}

  @Post()
  @ApiCreate(BotUserResource, { id: 'createBotUser', summary: 'Create a bot user', problems: CREATION_PROBLEMS })
  create(@Context() context: RequestContext, @Body() body: CreateBotUserBody) {
    return this.commands.execute(new CreateBotUser(context, body));
  }

  @Get()
  @ApiList(BotUserResource, BOT_USERS.path, {
    id: 'listBotUsers',
    summary: 'List bot users',
    creation: [CreateBotUserBody],
  })
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
    problems: CHANGE_PROBLEMS,
  })
  update(@Context() context: RequestContext, @Param('id') id: string, @Body() body: UpdateBotUserBody) {
    return this.commands.execute(new UpdateBotUser(context, id, body));
  }

  @Delete(':id')
  @HttpCode(204)
  @ApiDelete({
    id: 'deleteBotUser',
    summary: 'Delete a bot user',
    description: 'The API keys and SSH credentials of this bot are deleted too.',
    problems: CHANGE_PROBLEMS,
  })
  delete(@Context() context: RequestContext, @Param('id') id: string) {
    return this.commands.execute(new DeleteBotUser(context, id));
  }
}

const ROLE_PROBLEMS = ['not_found', 'conflict'] as const;

const ShowRole = () => ShowPart<Principal>(({ role }) => ({ role }));

/** Each change of the role is a change of its bot. */
@ApiTag('Bot users', 'bot')
@Controller(`${BOT_USERS.path}/:id/role`)
export class BotUserRoleController {
  constructor(
    private readonly commands: CommandBus,
    private readonly reads: Reads,
  ) {}

  @Put()
  @ShowRole()
  @ApiUpdate(BotUserRoleResource, {
    id: 'putBotUserRole',
    summary: 'Set the role of a bot user',
    problems: ROLE_PROBLEMS,
  })
  put(@Context() context: RequestContext, @Param('id') id: string, @Body() body: PutBotUserRoleBody) {
    return this.commands.execute(new ChangeBotUserRole(context, id, body));
  }

  @Get()
  @ShowRole()
  @ApiGet(BotUserRoleResource, {
    id: 'getBotUserRole',
    summary: 'Get the role of a bot user',
    problems: ['not_found'],
  })
  get(@Read() request: ReadRequest, @Param('id') id: string) {
    return this.reads.get(BOT_USERS, request, id);
  }

  @Delete()
  @HttpCode(204)
  @ShowNothing()
  @ApiDelete({
    id: 'deleteBotUserRole',
    summary: 'Make a bot user a member',
    description: 'It answers the same if the bot is a member already.',
    problems: ROLE_PROBLEMS,
  })
  delete(@Context() context: RequestContext, @Param('id') id: string) {
    return this.commands.execute(new ChangeBotUserRole(context, id, { role: 'member' }));
  }
}
