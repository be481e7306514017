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
import { ApiKeys } from '../access.queries.js';
import { apiKeysReadModel } from '../access.read-models.js';
import { type ApiKey, type ApiKeyEvent } from './api-key.js';
import { CreateApiKey, type CreatedApiKey, DeleteApiKey, UpdateApiKey } from './api-keys.commands.js';
import {
  ApiKeyResource,
  apiKeyReads,
  CreateApiKeyBody,
  CreatedApiKeyResource,
  PATH,
  toResource,
  UpdateApiKeyBody,
} from './api-keys.resource.js';

@ApiTag('API keys', 'ak')
@Controller(PATH)
export class ApiKeysController {
  private readonly reads: ReturnType<typeof apiKeyReads>;

  constructor(
    private readonly mutations: Mutations,
    keys: ApiKeys,
    logs: Logs,
  ) {
    this.reads = apiKeyReads(keys, logs);
  }

  @Post()
  @ApiCreate(CreatedApiKeyResource, {
    id: 'createApiKey',
    summary: 'Create an API key',
    problems: ['owner_not_yours', 'owner_inactive'],
  })
  async create(
    @Context() context: RequestContext,
    @Body() { description, metadata, owner_id: ownerId }: CreateApiKeyBody,
    @Res({ passthrough: true }) reply: FastifyReply,
  ): Promise<CreatedApiKeyResource | undefined> {
    const command = new CreateApiKey(context, omitUndefined({ description, metadata, ownerId }));
    const created = await this.mutations.execute<ApiKey, ApiKeyEvent, CreatedApiKey>(apiKeysReadModel, command, reply);
    if (created.entity === undefined) return undefined;
    // A repetition under an Idempotency-Key gets the key without its token: that was shown once, and is kept nowhere.
    const token = 'token' in created ? created.token : null;
    return { ...toResource(created.entity, context.baseUrl), token };
  }

  @Get()
  @ApiList(ApiKeyResource, PATH, {
    plural: 'keys',
    id: 'listApiKeys',
    summary: 'List API keys',
    description: 'Members see their own, admins all.',
  })
  list(@Read() asked: ReadRequest) {
    return this.reads.list(asked);
  }

  @Get(':id')
  @ApiGet(ApiKeyResource, { id: 'getApiKey', summary: 'Get an API key', problems: ['not_found'] })
  get(@Read() asked: ReadRequest, @Param('id') id: string) {
    return this.reads.get(asked, id);
  }

  @Get(':id/events')
  @ApiHistory(HistoryResource, {
    id: 'getApiKeyHistory',
    summary: 'Get the history of an API key',
    problems: ['not_found', 'role_missing'],
  })
  history(@Read() asked: ReadRequest, @Param('id') id: string) {
    return this.reads.history(asked, id);
  }

  @Patch(':id')
  @ApiUpdate(ApiKeyResource, {
    id: 'updateApiKey',
    summary: 'Update an API key',
    description: 'What is absent or null stays as it is; an empty text clears.',
    problems: ['not_found'],
  })
  update(
    @Context() context: RequestContext,
    @Param('id') id: string,
    @Body() body: UpdateApiKeyBody,
    @Res({ passthrough: true }) reply: FastifyReply,
  ) {
    refuseOtherPlace(body, PATH, id);
    const check = (key: Entity<ApiKey> | undefined): void => {
      if (key !== undefined) refuseOtherValue('owner_id', body.owner_id, key.state.ownerId);
      refuseOtherTime(body.created_at, key);
    };
    const input = omitUndefined({ description: body.description, metadata: body.metadata });
    return this.execute(new UpdateApiKey(context, id, input, check), reply);
  }

  @Delete(':id')
  @ApiDelete({
    id: 'deleteApiKey',
    summary: 'Delete an API key',
    description: 'It is refused from the next request on.',
    problems: ['not_found'],
  })
  @HttpCode(204)
  async delete(
    @Context() context: RequestContext,
    @Param('id') id: string,
    @Res({ passthrough: true }) reply: FastifyReply,
  ): Promise<void> {
    await this.execute(new DeleteApiKey(context, id), reply);
  }

  private async execute(command: UpdateApiKey | DeleteApiKey, reply: FastifyReply) {
    const { entity } = await this.mutations.execute(apiKeysReadModel, command, reply);
    return entity === undefined ? undefined : toResource(entity, command.context.baseUrl);
  }
}
