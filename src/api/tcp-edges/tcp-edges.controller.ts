import { Controller, Delete, Get, HttpCode, Param, Patch, Post } from '@nestjs/common';
import { CommandBus } from '@nestjs/cqrs';
import { ApiCreate, ApiDelete, ApiGet, ApiHistory, ApiList, ApiTag, ApiUpdate } from '../http/openapi/decorators.js';
import { Context, Read, type ReadRequest, type RequestContext } from '../http/request-context.js';
import { Body } from '../http/validated-body.js';
import { HistoryResource } from '../resources/history.resource.js';
import { Reads } from '../resources/reads.js';
import { ShowNothing } from '../resources/show-part.js';
import { CreateTcpEdgeBody, UpdateTcpEdgeBody } from './tcp-edges.bodies.js';
import { ChangeEdgeModule, CreateTcpEdge, DeleteTcpEdge, UpdateTcpEdge } from './tcp-edges.handlers.js';
import { TCP_EDGES, TcpEdgeResource } from './tcp-edges.resource.js';

const FIELD_PROBLEMS = [
  'edge_description_too_long',
  'edge_metadata_too_long',
  'hostport_malformed',
  'hostport_port_out_of_range',
  'backend_id_invalid',
  'ip_policy_id_invalid',
  'hostport_already_used',
] as const;

@ApiTag('TCP edges', 'edgtcp')
@Controller(TCP_EDGES.path)
export class TcpEdgesController {
  constructor(
    private readonly commands: CommandBus,
    private readonly reads: Reads,
  ) {}

  @Post()
  @ApiCreate(TcpEdgeResource, { id: 'createTcpEdge', summary: 'Create a TCP edge', problems: FIELD_PROBLEMS })
  create(@Context() context: RequestContext, @Body() body: CreateTcpEdgeBody) {
    return this.commands.execute(new CreateTcpEdge(context, body));
  }

  @Get()
  @ApiList(TcpEdgeResource, TCP_EDGES.path, {
    id: 'listTcpEdges',
    summary: 'List TCP edges',
    description: 'A page ends before the edge with which it has more than 1 MiB.',
    listKey: 'tcp_edges',
    creation: [CreateTcpEdgeBody],
  })
  list(@Read() request: ReadRequest) {
    return this.reads.list(TCP_EDGES, request);
  }

  @Get(':id')
  @ApiGet(TcpEdgeResource, { id: 'getTcpEdge', summary: 'Get a TCP edge', problems: ['edge_not_found'] })
  get(@Read() request: ReadRequest, @Param('id') id: string) {
    return this.reads.get(TCP_EDGES, request, id);
  }

  @Get(':id/events')
  @ApiHistory(HistoryResource, 'TcpEdge', 'a TCP edge', 'edge_not_found')
  history(@Read() request: ReadRequest, @Param('id') id: string) {
    return this.reads.history(TCP_EDGES, request, id);
  }

  @Patch(':id')
  @ApiUpdate(TcpEdgeResource, {
    id: 'updateTcpEdge',
    summary: 'Update a TCP edge',
    description:
      'An absent or null field stays as it is; an empty text or list clears. A module replaces the old module as a whole.',
    problems: [...FIELD_PROBLEMS, 'edge_not_found'],
  })
  update(@Context() context: RequestContext, @Param('id') id: string, @Body() body: UpdateTcpEdgeBody) {
    return this.commands.execute(new UpdateTcpEdge(context, id, body));
  }

  @Delete(':id/expiry')
  @HttpCode(204)
  @ShowNothing()
  @ApiDelete({ id: 'deleteTcpEdgeExpiry', summary: 'Let a TCP edge never expire', problems: ['edge_not_found'] })
  deleteExpiry(@Context() context: RequestContext, @Param('id') id: string) {
    return this.commands.execute(new ChangeEdgeModule(context, id, { expires_at: null }));
  }

  @Delete(':id')
  @HttpCode(204)
  @ApiDelete({ id: 'deleteTcpEdge', summary: 'Delete a TCP edge', problems: ['edge_not_found'] })
  delete(@Context() context: RequestContext, @Param('id') id: string) {
    return this.commands.execute(new DeleteTcpEdge(context, id));
  }
}
