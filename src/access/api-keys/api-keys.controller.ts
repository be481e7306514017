import { Controller, Delete, Get, HttpCode, Param, Patch, Post } from '@nestjs/common';
import { CommandBus } from '@nestjs/cqrs';
import { ApiCreate, ApiDelete, ApiGet, ApiHistory, ApiList, ApiTag, ApiUpdate } from '../../http/openapi/decorators.js';
import { Context, Read, type ReadRequest, type RequestContext } from '../../http/request-context.js';
import { Body } from '../../http/validated-body.js';
import { HistoryResource } from '../../resources/history.resource.js';
import { Reads } from '../../resources/reads.js';
import {
  API_KEYS,
  ApiKeyResource,
  CreateApiKey,
  CreateApiKeyBody,
  CreatedApiKeyResource,
  DeleteApiKey,
  UpdateApiKey,
  UpdateApiKeyBody,
} from './api-keys.resource.js';

const { path, plural } = API_KEYS;

@ApiTag('API keys', 'ak')
@Controller(path)
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
  @ApiList(ApiKeyResource, path, {
    plural,
    id: 'listApiKeys',
    summary: 'List API keys',
    description: 'Members see their own keys; admins and auditors see all keys.',
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
  @ApiHistory(HistoryResource, {
    id: 'getApiKeyHistory',
    summary: 'Get the history of an API key',
    problems: ['not_found', 'role_missing'],
  })
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
  @ApiDelete({
    id: 'deleteApiKey',
    summary: 'Delete an API key',
    description: 'The key is refused from the next request on.',
    problems: ['not_found'],
  })
  @HttpCode(204)
  delete(@Context() context: RequestContext, @Param('id') id: string) {
    return this.commands.execute(new DeleteApiKey(context, id));
  }
}
