import { Body, Controller, Delete, Get, HttpCode, Param, Patch, Post, Query, Res } from '@nestjs/common';
import type { FastifyReply } from 'fastify';
import { isAdmin } from '../caller.js';
import type { Entity } from '../event-log/read-model.js';
import { given } from '../given.js';
import { tellVersion } from '../http/conditions.js';
import { Mutations } from '../http/mutation.js';
import { pageOf, readPageRequest } from '../http/page.js';
import { Context, type RequestContext } from '../http/request-context.js';
import { Text, TextOfBytes } from '../http/validated-body.js';
import { refuseOtherPlace, refuseOtherTime, refuseOtherValue } from '../read-only-fields.js';
import { ApiKeys } from './access.queries.js';
import { apiKeysReadModel } from './access.read-models.js';
import { type ApiKey, type ApiKeyEvent, visibleTo } from './api-key.js';
import { CreateApiKey, type CreatedApiKey, DeleteApiKey, UpdateApiKey } from './api-keys.commands.js';

const PATH = 'api_keys';
const MAX_DESCRIPTION_BYTES = 255;
const MAX_METADATA_BYTES = 4096;

export class CreateApiKeyBody {
  @TextOfBytes(MAX_DESCRIPTION_BYTES, 'request_malformed') description?: string;
  @TextOfBytes(MAX_METADATA_BYTES, 'request_malformed') metadata?: string;
  @Text() owner_id?: string;
}

/** `id`, `uri`, `owner_id` and `created_at` are taken when unchanged. */
export class UpdateApiKeyBody extends CreateApiKeyBody {
  @Text() id?: string;
  @Text() uri?: string;
  @Text() created_at?: string;
}

@Controller(PATH)
export class ApiKeysController {
  constructor(
    private readonly mutations: Mutations,
    private readonly keys: ApiKeys,
  ) {}

  @Post()
  async create(
    @Context() context: RequestContext,
    @Body() { description, metadata, owner_id: ownerId }: CreateApiKeyBody,
    @Res({ passthrough: true }) reply: FastifyReply,
  ) {
    const command = new CreateApiKey(context, given({ description, metadata, ownerId }));
    const created = await this.mutations.execute<ApiKey, ApiKeyEvent, CreatedApiKey>(apiKeysReadModel, command, reply);
    if (created.entity === undefined) return undefined;
    // A repetition under an Idempotency-Key gets the key without its token: that was shown once, and is kept nowhere.
    const token = 'token' in created ? created.token : null;
    return { ...toResource(created.entity, context.baseUrl), token };
  }

  @Get()
  async list(@Context() { caller, baseUrl }: RequestContext, @Query() query: Record<string, unknown>) {
    const page = readPageRequest(query, 'ak');
    const found = isAdmin(caller)
      ? await this.keys.list(caller.accountId, page)
      : await this.keys.listOf(caller.accountId, caller.principalId, page);
    return pageOf('keys', `${baseUrl}/${PATH}`, page, found, (entity) => toResource(entity, baseUrl));
  }

  @Get(':id')
  async get(
    @Context() { caller, baseUrl }: RequestContext,
    @Param('id') id: string,
    @Res({ passthrough: true }) reply: FastifyReply,
  ) {
    const entity = await this.keys.find({ accountId: caller.accountId, id });
    visibleTo(caller, entity?.state);
    if (entity === undefined) return undefined;
    tellVersion(reply, entity);
    return toResource(entity, baseUrl);
  }

  @Patch(':id')
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
    const input = given({ description: body.description, metadata: body.metadata });
    return this.execute(new UpdateApiKey(context, id, input, check), reply);
  }

  @Delete(':id')
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

/** `token` is null here: it was in the answer that created the key, and is nowhere since. */
const toResource = ({ id, createdAt, state }: Entity<ApiKey>, baseUrl: string) => ({
  id,
  uri: `${baseUrl}/${PATH}/${id}`,
  description: state.description,
  metadata: state.metadata,
  created_at: createdAt.toISOString(),
  owner_id: state.ownerId,
  token: null,
});
