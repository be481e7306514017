import { Controller, Delete, Get, HttpCode, Param, Patch, Post } from '@nestjs/common';
import { CommandBus } from '@nestjs/cqrs';
import { ApiCreate, ApiDelete, ApiGet, ApiHistory, ApiList, ApiTag, ApiUpdate } from '../http/openapi/decorators.js';
import { Context, Read, type ReadRequest, type RequestContext } from '../http/request-context.js';
import { Body } from '../http/validated-body.js';
import { HistoryResource } from '../resources/history.resource.js';
import { Reads } from '../resources/reads.js';
import { CreateReservedAddr, DeleteReservedAddr, UpdateReservedAddr } from './reserved-addrs.handlers.js';
import {
  CreateReservedAddrBody,
  RESERVED_ADDRS,
  ReservedAddrResource,
  UpdateReservedAddrBody,
} from './reserved-addrs.resource.js';

@ApiTag('Reserved addresses', 'ra')
@Controller(RESERVED_ADDRS.path)
export class ReservedAddrsController {
  constructor(
    private readonly commands: CommandBus,
    private readonly reads: Reads,
  ) {}

  @Post()
  @ApiCreate(ReservedAddrResource, {
    id: 'createReservedAddr',
    summary: 'Reserve an address',
    problems: ['hostport_malformed', 'hostport_port_out_of_range', 'conflict'],
  })
  create(@Context() context: RequestContext, @Body() body: CreateReservedAddrBody) {
    return this.commands.execute(new CreateReservedAddr(context, body));
  }

  @Get()
  @ApiList(ReservedAddrResource, RESERVED_ADDRS.path, {
    id: 'listReservedAddrs',
    summary: 'List reserved addresses',
    creation: [CreateReservedAddrBody],
  })
  list(@Read() request: ReadRequest) {
    return this.reads.list(RESERVED_ADDRS, request);
  }

  @Get(':id')
  @ApiGet(ReservedAddrResource, { id: 'getReservedAddr', summary: 'Get a reserved address', problems: ['not_found'] })
  get(@Read() request: ReadRequest, @Param('id') id: string) {
    return this.reads.get(RESERVED_ADDRS, request, id);
  }

  @Get(':id/events')
  @ApiHistory(HistoryResource, 'ReservedAddr', 'a reserved address')
  history(@Read() request: ReadRequest, @Param('id') id: string) {
    return this.reads.history(RESERVED_ADDRS, request, id);
  }

  @Patch(':id')
  @ApiUpdate(ReservedAddrResource, {
    id: 'updateReservedAddr',
    summary: 'Update a reserved address',
    description: 'An absent or null field stays as it is; an empty text clears.',
    problems: ['not_found'],
  })
  update(@Context() context: RequestContext, @Param('id') id: string, @Body() body: UpdateReservedAddrBody) {
    return this.commands.execute(new UpdateReservedAddr(context, id, body));
  }

  @Delete(':id')
  @HttpCode(204)
  @ApiDelete({
    id: 'deleteReservedAddr',
    summary: 'Delete a reserved address',
    description:
      'A tunnel at the address ends within a second. It rests: nobody binds it, and no other account can reserve it for a time.',
    problems: ['not_found'],
  })
  delete(@Context() context: RequestContext, @Param('id') id: string) {
    return this.commands.execute(new DeleteReservedAddr(context, id));
  }
}
