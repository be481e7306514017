import { Controller, Delete, Get, HttpCode, Param, Patch, Post, type Type } from '@nestjs/common';
import { CommandBus } from '@nestjs/cqrs';
import { ApiCreate, ApiDelete, ApiGet, ApiHistory, ApiList, ApiTag, ApiUpdate } from '../../http/openapi/decorators.js';
import type { Operation } from '../../http/openapi/operations.js';
import { Context, Read, type ReadRequest, type RequestContext } from '../../http/request-context.js';
import { Body } from '../../http/validated-body.js';
import { HistoryResource } from '../../resources/history.resource.js';
import { partController } from '../../resources/part-controller.js';
import { Reads } from '../../resources/reads.js';
import { ChangeBotUserRole, CreateBotUser, DeleteBotUser, UpdateBotUser } from './bot-users.handlers.js';
import {
  BOT_USERS,
  BotUserResource,
  BotUserRoleResource,
  CreateBotUserBody,
  PutBotUserRoleBody,
  SERVICE_USERS,
  ServiceUserResource,
  UpdateBotUserBody,
} from './bot-users.resource.js';
import { CHANGE_PROBLEMS, CREATION_PROBLEMS } from './principal.js';

/** The documentation of the routes of one of the two paths. */
const documented = (name: 'BotUser' | 'ServiceUser', noun: 'bot user' | 'service user') =>
  ({
    create: { id: `create${name}`, summary: `Create a ${noun}`, problems: CREATION_PROBLEMS },
    list: { id: `list${name}s`, summary: `List ${noun}s` },
    get: { id: `get${name}`, summary: `Get a ${noun}`, problems: ['not_found'] },
    history: {
      id: `get${name}History`,
      summary: `Get the history of a ${noun}`,
      problems: ['not_found', 'role_missing'],
    },
    update: {
      id: `update${name}`,
      summary: `Update a ${noun}`,
      description: 'An absent or null field stays as it is.',
      problems: CHANGE_PROBLEMS,
    },
    delete: {
      id: `delete${name}`,
      summary: `Delete a ${noun}`,
      description: 'The API keys and SSH credentials of this bot are deleted too.',
      problems: CHANGE_PROBLEMS,
    },
  }) satisfies Record<string, Operation>;

/** Clients know bots by two paths, with other ids of operations: see SERVICE_USERS. */
function botsController(
  bots: typeof BOT_USERS,
  resource: Type<object>,
  tag: string,
  routes: ReturnType<typeof documented>,
): Type<unknown> {
  @ApiTag(tag, 'bot')
  @Controller(bots.path)
  class BotsController {
    constructor(
      private readonly commands: CommandBus,
      private readonly reads: Reads,
    ) {}

    @Post()
    @ApiCreate(resource, routes.create)
    create(@Context() context: RequestContext, @Body() body: CreateBotUserBody) {
      return this.commands.execute(new CreateBotUser(context, body));
    }

    @Get()
    @ApiList(resource, bots.path, { ...routes.list, creation: [CreateBotUserBody] })
    list(@Read() request: ReadRequest) {
      return this.reads.list(bots, request);
    }

    @Get(':id')
    @ApiGet(resource, routes.get)
    get(@Read() request: ReadRequest, @Param('id') id: string) {
      return this.reads.get(bots, request, id);
    }

    @Get(':id/events')
    @ApiHistory(HistoryResource, routes.history)
    history(@Read() request: ReadRequest, @Param('id') id: string) {
      return this.reads.history(bots, request, id);
    }

    @Patch(':id')
    @ApiUpdate(resource, routes.update)
    update(@Context() context: RequestContext, @Param('id') id: string, @Body() body: UpdateBotUserBody) {
      return this.commands.execute(new UpdateBotUser(context, id, body));
    }

    @Delete(':id')
    @HttpCode(204)
    @ApiDelete(routes.delete)
    delete(@Context() context: RequestContext, @Param('id') id: string) {
      return this.commands.execute(new DeleteBotUser(context, id));
    }
  }
  return BotsController;
}

const ROLE_PROBLEMS = ['not_found', 'conflict'] as const;

export const BOT_USER_CONTROLLERS = [
  botsController(BOT_USERS, BotUserResource, 'Bot users', documented('BotUser', 'bot user')),
  botsController(SERVICE_USERS, ServiceUserResource, 'Service users', documented('ServiceUser', 'service user')),
  partController({
    of: BOT_USERS,
    tag: 'Bot users',
    path: 'role',
    name: 'BotUserRole',
    what: 'the role of a bot user',
    put: { problems: ROLE_PROBLEMS },
    get: { problems: ['not_found'] },
    delete: {
      summary: 'Make a bot user a member',
      description: 'It answers the same if the bot is a member already.',
      problems: ROLE_PROBLEMS,
    },
    body: PutBotUserRoleBody,
    resource: BotUserRoleResource,
    show: ({ role }) => ({ role }),
    absent: 'The bot has no role.',
    change: (context, id, body) => new ChangeBotUserRole(context, id, body ?? { role: 'member' }),
  }),
];
