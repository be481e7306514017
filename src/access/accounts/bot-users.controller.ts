import { Body, Controller, Delete, Get, HttpCode, Param, Patch, Post, Res } from '@nestjs/common';
import type { FastifyReply } from 'fastify';
import { ApiCreate, ApiDelete, ApiGet, ApiHistory, ApiList, ApiTag, ApiUpdate } from '../../http/openapi/decorators.js';
import { Context, type RequestContext } from '../../http/request-context.js';
import type { Entity } from '../../log/read-model.js';
import { omitUndefined } from '../../omit-undefined.js';
import { HistoryResource } from '../../resources/history.resource.js';
import { Mutations } from '../../resources/mutation.js';
import { refuseOtherPlace, refuseOtherTime } from '../../resources/read-only-fields.js';
import { Logs, Read, type ReadRequest } from '../../resources/resource.js';
import { Bots } from '../access.queries.js';
import { principalsReadModel } from '../access.read-models.js';
import { CreateBot, UpdateBot } from './bot-users.commands.js';
import {
  BotUserResource,
  botUserReads,
  CreateBotUserBody,
  PATH,
  toResource,
  UpdateBotUserBody,
} from './bot-users.resource.js';
import { type Principal } from './principal.js';
import { DeletePrincipal } from './principals.commands.js';

@ApiTag('Bot users', 'bot')
@Controller(PATH)
export class BotUsersController {
  private readonly reads: ReturnType<typeof botUserReads>;

  constructor(
    private readonly mutations: Mutations,
    bots: Bots,
    logs: Logs,
  ) {
    this.reads = botUserReads(bots, logs);
  }

  @Post()
  @ApiCreate(BotUserResource, {
    id: 'createBotUser',
    summary: 'Create a bot user',
    problems: ['role_missing', 'conflict'],
  })
  create(
    @Context() context: RequestContext,
    @Body() body: CreateBotUserBody,
    @Res({ passthrough: true }) reply: FastifyReply,
  ) {
    return this.execute(new CreateBot(context, body), reply);
  }

  @Get()
  @ApiList(BotUserResource, PATH, { id: 'listBotUsers', summary: 'List bot users' })
  list(@Read() asked: ReadRequest) {
    return this.reads.list(asked);
  }

  @Get(':id')
  @ApiGet(BotUserResource, { id: 'getBotUser', summary: 'Get a bot user', problems: ['not_found'] })
  get(@Read() asked: ReadRequest, @Param('id') id: string) {
    return this.reads.get(asked, id);
  }

  @Get(':id/events')
  @ApiHistory(HistoryResource, {
    id: 'getBotUserHistory',
    summary: 'Get the history of a bot user',
    problems: ['not_found', 'role_missing'],
  })
  history(@Read() asked: ReadRequest, @Param('id') id: string) {
    return this.reads.history(asked, id);
  }

  @Patch(':id')
  @ApiUpdate(BotUserResource, {
    id: 'updateBotUser',
    summary: 'Update a bot user',
    description: 'What is absent or null stays as it is.',
    problems: ['role_missing', 'not_found', 'conflict'],
  })
  update(
    @Context() context: RequestContext,
    @Param('id') id: string,
    @Body() body: UpdateBotUserBody,
    @Res({ passthrough: true }) reply: FastifyReply,
  ) {
    refuseOtherPlace(body, PATH, id);
    const check = (bot: Entity<Principal> | undefined): void => refuseOtherTime(body.created_at, bot);
    const input = omitUndefined({ name: body.name, active: body.active });
    return this.execute(new UpdateBot(context, id, input, check), reply);
  }

  @Delete(':id')
  @ApiDelete({
    id: 'deleteBotUser',
    summary: 'Delete a bot user',
    description: 'The API keys and SSH credentials of this bot end with it.',
    problems: ['role_missing', 'not_found'],
  })
  @HttpCode(204)
  async delete(
    @Context() context: RequestContext,
    @Param('id') id: string,
    @Res({ passthrough: true }) reply: FastifyReply,
  ): Promise<void> {
    await this.execute(new DeletePrincipal(context, id, 'bot'), reply);
  }

  private async execute(command: CreateBot | UpdateBot | DeletePrincipal, reply: FastifyReply) {
    const { entity } = await this.mutations.execute(principalsReadModel, command, reply);
    return entity === undefined ? undefined : toResource(entity, command.context.baseUrl);
  }
}
