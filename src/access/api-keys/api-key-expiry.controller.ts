import { Controller, Delete, Get, HttpCode, Param, Put } from '@nestjs/common';
import { CommandBus } from '@nestjs/cqrs';
import { RouteConfig } from '@nestjs/platform-fastify';
import { ApiDelete, ApiGet, ApiTag, ApiUpdate } from '../../http/openapi/decorators.js';
import { Context, Read, type ReadRequest, type RequestContext } from '../../http/request-context.js';
import { Body } from '../../http/validated-body.js';
import { parseExpiry } from '../../resources/expiry/expiry.js';
import { EXPIRY, ExpiryResource, PutExpiryBody, requireExpiry } from '../../resources/expiry/expiry.resource.js';
import { Reads } from '../../resources/reads.js';
import { API_KEYS, SetApiKeyExpiry } from './api-keys.resource.js';

/** When an API key expires. DELETE answers the same if the key had no expiry, as for the modules of an edge. */
@ApiTag('API keys', 'ak')
@Controller(`${API_KEYS.path}/:id/expiry`)
export class ApiKeyExpiryController {
  constructor(
    private readonly commands: CommandBus,
    private readonly reads: Reads,
  ) {}

  @Put()
  @RouteConfig(EXPIRY)
  @ApiUpdate(ExpiryResource, {
    id: 'putApiKeyExpiry',
    summary: 'Set when an API key expires',
    description:
      'A time in the past takes effect at once. An expired key is refused with 401, and cannot change its own expiry.',
    problems: ['not_found'],
  })
  put(@Context() context: RequestContext, @Param('id') id: string, @Body() body: PutExpiryBody) {
    return this.commands.execute(new SetApiKeyExpiry(context, id, { expires_at: parseExpiry(body.expires_at) }));
  }

  @Get()
  @RouteConfig(EXPIRY)
  @ApiGet(ExpiryResource, { id: 'getApiKeyExpiry', summary: 'Get when an API key expires', problems: ['not_found'] })
  async get(@Read() request: ReadRequest, @Param('id') id: string) {
    return requireExpiry(await this.reads.get(API_KEYS, request, id), 'API key');
  }

  @Delete()
  @RouteConfig({ render: () => undefined })
  @HttpCode(204)
  @ApiDelete({ id: 'deleteApiKeyExpiry', summary: 'Let an API key never expire', problems: ['not_found'] })
  delete(@Context() context: RequestContext, @Param('id') id: string) {
    return this.commands.execute(new SetApiKeyExpiry(context, id, { expires_at: null }));
  }
}
