import { Body, Controller, Delete, Get, HttpCode, Param, Patch, Post, Res } from '@nestjs/common';
import type { FastifyReply } from 'fastify';
import { ApiCreate, ApiDelete, ApiGet, ApiHistory, ApiList, ApiTag, ApiUpdate } from '../../http/openapi/decorators.js';
import { Context, type RequestContext } from '../../http/request-context.js';
import type { Entity } from '../../log/read-model.js';
import { omitUndefined } from '../../omit-undefined.js';
import { HistoryResource } from '../../resources/history.resource.js';
import { Mutations } from '../../resources/mutation.js';
import { refuseOtherPlace, refuseOtherTime, refuseOtherValue } from '../../resources/read-only-fields.js';
import { Logs, Read, type ReadRequest } from '../../resources/resource.js';
import { Users } from '../access.queries.js';
import { principalsReadModel } from '../access.read-models.js';
import { type Principal } from './principal.js';
import { DeletePrincipal } from './principals.commands.js';
import { CreateUser, UpdateUser } from './users.commands.js';
import { CreateUserBody, PATH, toResource, UpdateUserBody, UserResource, userReads } from './users.resource.js';

@ApiTag('Users', 'usr')
@Controller(PATH)
export class UsersController {
  private readonly reads: ReturnType<typeof userReads>;

  constructor(
    private readonly mutations: Mutations,
    users: Users,
    logs: Logs,
  ) {
    this.reads = userReads(users, logs);
  }

  @Post()
  @ApiCreate(UserResource, { id: 'createUser', summary: 'Create a user', problems: ['role_missing', 'conflict'] })
  create(
    @Context() context: RequestContext,
    @Body() body: CreateUserBody,
    @Res({ passthrough: true }) reply: FastifyReply,
  ) {
    return this.execute(new CreateUser(context, body), reply);
  }

  @Get()
  @ApiList(UserResource, PATH, { id: 'listUsers', summary: 'List users' })
  list(@Read() asked: ReadRequest) {
    return this.reads.list(asked);
  }

  @Get(':id')
  @ApiGet(UserResource, { id: 'getUser', summary: 'Get a user', problems: ['not_found'] })
  get(@Read() asked: ReadRequest, @Param('id') id: string) {
    return this.reads.get(asked, id);
  }

  @Get(':id/events')
  @ApiHistory(HistoryResource, {
    id: 'getUserHistory',
    summary: 'Get the history of a user',
    problems: ['not_found', 'role_missing'],
  })
  history(@Read() asked: ReadRequest, @Param('id') id: string) {
    return this.reads.history(asked, id);
  }

  @Patch(':id')
  @ApiUpdate(UserResource, {
    id: 'updateUser',
    summary: 'Update a user',
    description: 'What is absent or null stays as it is. The last active admin of an account stays one (409).',
    problems: ['role_missing', 'not_found', 'conflict'],
  })
  update(
    @Context() context: RequestContext,
    @Param('id') id: string,
    @Body() body: UpdateUserBody,
    @Res({ passthrough: true }) reply: FastifyReply,
  ) {
    refuseOtherPlace(body, PATH, id);
    const check = (user: Entity<Principal> | undefined): void => {
      if (user !== undefined) refuseOtherValue('email', body.email, user.state.email);
      refuseOtherTime(body.created_at, user);
    };
    const input = omitUndefined({ role: body.role, active: body.active });
    return this.execute(new UpdateUser(context, id, input, check), reply);
  }

  @Delete(':id')
  @ApiDelete({
    id: 'deleteUser',
    summary: 'Delete a user',
    description:
      'The API keys and SSH credentials of this user end with it. The last active admin of an account stays (409).',
    problems: ['role_missing', 'not_found', 'conflict'],
  })
  @HttpCode(204)
  async delete(
    @Context() context: RequestContext,
    @Param('id') id: string,
    @Res({ passthrough: true }) reply: FastifyReply,
  ): Promise<void> {
    await this.execute(new DeletePrincipal(context, id, 'user'), reply);
  }

  private async execute(command: CreateUser | UpdateUser | DeletePrincipal, reply: FastifyReply) {
    const { entity } = await this.mutations.execute(principalsReadModel, command, reply);
    return entity === undefined ? undefined : toResource(entity, command.context.baseUrl);
  }
}
