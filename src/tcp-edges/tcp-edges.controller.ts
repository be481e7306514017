import { Body, Controller, Delete, Get, HttpCode, Param, Patch, Post, Res } from '@nestjs/common';
import type { FastifyReply } from 'fastify';
import { ApiCreate, ApiDelete, ApiGet, ApiHistory, ApiList, ApiTag, ApiUpdate } from '../http/openapi/decorators.js';
import { Context, type RequestContext } from '../http/request-context.js';
import { HistoryResource } from '../resources/history.resource.js';
import { Mutations } from '../resources/mutation.js';
import { refuseOtherPlace } from '../resources/read-only-fields.js';
import { Logs, Read, type ReadRequest } from '../resources/resource.js';
import { CreateTcpEdgeBody, edgeInput, UpdateTcpEdgeBody } from './tcp-edges.bodies.js';
import { CreateTcpEdge, DeleteTcpEdge, UpdateTcpEdge } from './tcp-edges.commands.js';
import { TcpEdges, tcpEdgesReadModel } from './tcp-edges.read-model.js';
import { PATH, TcpEdgeResource, tcpEdgeReads, toResource } from './tcp-edges.resource.js';

const PROBLEMS_OF_FIELDS = [
  'edge_description_too_long',
  'edge_metadata_too_long',
  'hostport_malformed',
  'hostport_port_out_of_range',
  'backend_id_invalid',
  'ip_policy_id_invalid',
  'hostport_already_used',
] as const;

@ApiTag('TCP edges', 'edgtcp')
@Controller(PATH)
export class TcpEdgesController {
  private readonly reads: ReturnType<typeof tcpEdgeReads>;

  constructor(
    private readonly mutations: Mutations,
    edges: TcpEdges,
    logs: Logs,
  ) {
    this.reads = tcpEdgeReads(edges, logs);
  }

  @Post()
  @ApiCreate(TcpEdgeResource, { id: 'createTcpEdge', summary: 'Create a TCP edge', problems: PROBLEMS_OF_FIELDS })
  create(
    @Context() context: RequestContext,
    @Body() body: CreateTcpEdgeBody,
    @Res({ passthrough: true }) reply: FastifyReply,
  ) {
    return this.execute(new CreateTcpEdge(context, edgeInput(body)), reply);
  }

  @Get()
  @ApiList(TcpEdgeResource, PATH, { id: 'listTcpEdges', summary: 'List TCP edges', plural: 'tcp_edges' })
  list(@Read() asked: ReadRequest) {
    return this.reads.list(asked);
  }

  @Get(':id')
  @ApiGet(TcpEdgeResource, { id: 'getTcpEdge', summary: 'Get a TCP edge', problems: ['edge_not_found'] })
  get(@Read() asked: ReadRequest, @Param('id') id: string) {
    return this.reads.get(asked, id);
  }

  @Get(':id/events')
  @ApiHistory(HistoryResource, {
    id: 'getTcpEdgeHistory',
    summary: 'Get the history of a TCP edge',
    problems: ['edge_not_found', 'role_missing'],
  })
  history(@Read() asked: ReadRequest, @Param('id') id: string) {
    return this.reads.history(asked, id);
  }

  @Patch(':id')
  @ApiUpdate(TcpEdgeResource, {
    id: 'updateTcpEdge',
    summary: 'Update a TCP edge',
    description:
      'What is absent or null stays as it is; an empty text or list clears. A module that is given replaces the old one whole.',
    problems: [...PROBLEMS_OF_FIELDS, 'edge_not_found'],
  })
  update(
    @Context() context: RequestContext,
    @Param('id') id: string,
    @Body() body: UpdateTcpEdgeBody,
    @Res({ passthrough: true }) reply: FastifyReply,
  ) {
    refuseOtherPlace(body, PATH, id);
    return this.execute(new UpdateTcpEdge(context, id, edgeInput(body), body.created_at), reply);
  }

  @Delete(':id')
  @ApiDelete({ id: 'deleteTcpEdge', summary: 'Delete a TCP edge', problems: ['edge_not_found'] })
  @HttpCode(204)
  async delete(
    @Context() context: RequestContext,
    @Param('id') id: string,
    @Res({ passthrough: true }) reply: FastifyReply,
  ): Promise<void> {
    await this.execute(new DeleteTcpEdge(context, id), reply);
  }

  private async execute(command: CreateTcpEdge | UpdateTcpEdge | DeleteTcpEdge, reply: FastifyReply) {
    const { entity } = await this.mutations.execute(tcpEdgesReadModel, command, reply);
    return entity === undefined ? undefined : toResource(entity, command.context.baseUrl);
  }
}
