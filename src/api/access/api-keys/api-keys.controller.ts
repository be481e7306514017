import { Controller, Delete, Get, HttpCode, Param, Patch, Post } from '@nestjs/common';
import { CommandBus } from '@nestjs/cqrs';
import { ApiCreate, ApiDelete, ApiGet, ApiHistory, ApiList, ApiTag, ApiUpdate } from '../../http/openapi/decorators.js';
import { Context, Read, type ReadRequest, type RequestContext } from '../../http/request-context.js';
import { Body } from '../../http/validated-body.js';
import { parseExpiry } from '../../resources/expiry/expiry.js';
import { ExpiryResource, PutExpiryBody, toExpiry } from '../../resources/expiry/expiry.resource.js';
import { HistoryResource } from '../../resources/history.resource.js';
import { partController } from '../../resources/part-controller.js';
import { Reads } from '../../resources/reads.js';
import { CreateApiKey, DeleteApiKey, SetApiKeyExpiry, UpdateApiKey } from './api-keys.handlers.js';
import {
  API_KEYS,
  ApiKeyResource,
  CreateApiKeyBody,
  CreatedApiKeyResource,
  UpdateApiKeyBody,
} from './api-keys.resource.js';

@ApiTag('API keys', 'ak')
@Controller(API_KEYS.path)
export class ApiKeysController {
  constructor(
    private readonly commands: CommandBus,
    private readonly reads: Reads,
  ) {}

  @Post()
  @ApiCreate(CreatedApiKeyResource, {
    id: 'createApiKey',
    summary: 'Create an API key',
    problems: ['owner_not_yours', 'owner_inactive'],
  })
  create(@Context() context: RequestContext, @Body() body: CreateApiKeyBody) {
    return this.commands.execute(new CreateApiKey(context, body));
  }

  @Get()
  @ApiList(ApiKeyResource, API_KEYS.path, {
    id: 'listApiKeys',
    summary: 'List API keys',
    description: 'Members see their own keys; admins and auditors see all keys.',
    listKey: 'keys',
    creation: [CreateApiKeyBody],
  })
  list(@Read() request: ReadRequest) {
    return this.reads.list(API_KEYS, request);
  }

  @Get(':id')
  @ApiGet(ApiKeyResource, { id: 'getApiKey', summary: 'Get an API key', problems: ['not_found'] })
  get(@Read() request: ReadRequest, @Param('id') id: string) {
    return this.reads.get(API_KEYS, request, id);
  }

  @Get(':id/events')
  @ApiHistory(HistoryResource, 'ApiKey', 'an API key')
  history(@Read() request: ReadRequest, @Param('id') id: string) {
    return this.reads.history(API_KEYS, request, id);
  }

  @Patch(':id')
  @ApiUpdate(ApiKeyResource, {
    id: 'updateApiKey',
    summary: 'Update an API key',
    description: 'An absent or null field stays as it is; an empty text clears.',
    problems: ['not_found'],
  })
  update(@Context() context: RequestContext, @Param('id') id: string, @Body() body: UpdateApiKeyBody) {
    return this.commands.execute(new UpdateApiKey(context, id, body));
  }

  @Delete(':id')
  @HttpCode(204)
  @ApiDelete({
    id: 'deleteApiKey',
    summary: 'Delete an API key',
    description: 'The key is refused from the next request on.',
    problems: ['not_found'],
  })
  delete(@Context() context: RequestContext, @Param('id') id: string) {
    return this.commands.execute(new DeleteApiKey(context, id));
  }
}

/** When a key works. */
export const ApiKeyExpiryController = partController({
  of: API_KEYS,
  tag: 'API keys',
  path: 'expiry',
  name: 'ApiKeyExpiry',
  what: 'when an API key expires',
  put: {
    description: 'A time in the past is refused. An expired key is refused with 401, and cannot change its own expiry.',
    problems: ['not_found'],
  },
  get: { problems: ['not_found'] },
  delete: { summary: 'Let an API key never expire', problems: ['not_found'] },
  body: PutExpiryBody,
  resource: ExpiryResource,
  show: toExpiry,
  absent: 'The API key has no expiry.',
  change: (context, id, body) =>
    new SetApiKeyExpiry(context, id, { expires_at: body ? parseExpiry(body.expires_at) : null }),
});
