import { Body, Controller, Delete, Get, HttpCode, Param, Patch, Post, Query, Res } from '@nestjs/common';
import type { FastifyReply } from 'fastify';
import type { Entity } from '../event-log/read-model.js';
import { given } from '../given.js';
import { tellVersion } from '../http/conditions.js';
import { Mutations } from '../http/mutation.js';
import { Changes, Creates, Deletes, Gets, Lists, Topic } from '../http/openapi.js';
import { pageOf, readPageRequest } from '../http/page.js';
import { Context, type RequestContext } from '../http/request-context.js';
import { refuseOtherPlace, refuseOtherTime } from '../read-only-fields.js';
import { Bots } from './access.queries.js';
import { principalsReadModel } from './access.read-models.js';
import { CreateBot, UpdateBot } from './bot-users.commands.js';
import { BotUserResource, CreateBotUserBody, PATH, toResource, UpdateBotUserBody } from './bot-users.resource.js';
import { notFound, type Principal } from './principal.js';
import { DeletePrincipal } from './principals.commands.js';

@Topic('Bot users', 'bot')
@Controller(PATH)
export class BotUsersController {
  constructor(
    private readonly mutations: Mutations,
    private readonly bots: Bots,
  ) {}

  @Post()
  @Creates(BotUserResource, {
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
  @Lists(BotUserResource, PATH, { id: 'listBotUsers', summary: 'List bot users' })
  async list(@Context() { caller, baseUrl }: RequestContext, @Query() query: Record<string, unknown>) {
    const page = readPageRequest(query, 'bot');
    const found = await this.bots.list(caller.accountId, page);
    return pageOf(PATH, `${baseUrl}/${PATH}`, page, found, (entity) => toResource(entity, baseUrl));
  }

  @Get(':id')
  @Gets(BotUserResource, { id: 'getBotUser', summary: 'Get a bot user', problems: ['not_found'] })
  async get(
    @Context() { caller, baseUrl }: RequestContext,
    @Param('id') id: string,
    @Res({ passthrough: true }) reply: FastifyReply,
  ) {
    const entity = await this.bots.find({ accountId: caller.accountId, id });
    if (entity === undefined) throw notFound();
    tellVersion(reply, entity);
    return toResource(entity, baseUrl);
  }

  @Patch(':id')
  @Changes(BotUserResource, {
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
    const input = given({ name: body.name, active: body.active });
    return this.execute(new UpdateBot(context, id, input, check), reply);
  }

  @Delete(':id')
  @Deletes({
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
