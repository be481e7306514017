import { Controller, Delete, Get, HttpCode, Param, Patch, Post } from '@nestjs/common';
import { CommandBus } from '@nestjs/cqrs';
import { ApiCreate, ApiDelete, ApiGet, ApiHistory, ApiList, ApiTag, ApiUpdate } from '../http/openapi/decorators.js';
import { Context, Read, type ReadRequest, type RequestContext } from '../http/request-context.js';
import { Body } from '../http/validated-body.js';
import { HistoryResource } from '../resources/history.resource.js';
import { Reads } from '../resources/reads.js';
import { CreateReservedDomain, DeleteReservedDomain, UpdateReservedDomain } from './reserved-domains.handlers.js';
import {
  CreateReservedDomainBody,
  RESERVED_DOMAINS,
  ReservedDomainResource,
  UpdateReservedDomainBody,
} from './reserved-domains.resource.js';

@ApiTag('Reserved domains', 'rd')
@Controller(RESERVED_DOMAINS.path)
export class ReservedDomainsController {
  constructor(
    private readonly commands: CommandBus,
    private readonly reads: Reads,
  ) {}

  @Post()
  @ApiCreate(ReservedDomainResource, {
    id: 'createReservedDomain',
    summary: 'Reserve a domain',
    problems: ['conflict'],
  })
  create(@Context() context: RequestContext, @Body() body: CreateReservedDomainBody) {
    return this.commands.execute(new CreateReservedDomain(context, body));
  }

  @Get()
  @ApiList(ReservedDomainResource, RESERVED_DOMAINS.path, {
    id: 'listReservedDomains',
    summary: 'List reserved domains',
    creation: [CreateReservedDomainBody],
  })
  list(@Read() request: ReadRequest) {
    return this.reads.list(RESERVED_DOMAINS, request);
  }

  @Get(':id')
  @ApiGet(ReservedDomainResource, {
    id: 'getReservedDomain',
    summary: 'Get a reserved domain',
    problems: ['not_found'],
  })
  get(@Read() request: ReadRequest, @Param('id') id: string) {
    return this.reads.get(RESERVED_DOMAINS, request, id);
  }

  @Get(':id/events')
  @ApiHistory(HistoryResource, 'ReservedDomain', 'a reserved domain')
  history(@Read() request: ReadRequest, @Param('id') id: string) {
    return this.reads.history(RESERVED_DOMAINS, request, id);
  }

  @Patch(':id')
  @ApiUpdate(ReservedDomainResource, {
    id: 'updateReservedDomain',
    summary: 'Update a reserved domain',
    description: 'An absent or null field stays as it is; an empty text clears.',
    problems: ['not_found'],
  })
  update(@Context() context: RequestContext, @Param('id') id: string, @Body() body: UpdateReservedDomainBody) {
    return this.commands.execute(new UpdateReservedDomain(context, id, body));
  }

  @Delete(':id')
  @HttpCode(204)
  @ApiDelete({
    id: 'deleteReservedDomain',
    summary: 'Delete a reserved domain',
    description:
      'Tunnels at the domain end within a second. It rests: nobody binds it, and no other account can reserve it for a time.',
    problems: ['not_found'],
  })
  delete(@Context() context: RequestContext, @Param('id') id: string) {
    return this.commands.execute(new DeleteReservedDomain(context, id));
  }
}
