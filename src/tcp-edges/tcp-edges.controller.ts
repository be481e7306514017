import { Body, Controller, Delete, Get, HttpCode, Param, Patch, Post, Query, Res } from '@nestjs/common';
import type { FastifyReply } from 'fastify';
import { tellVersion } from '../http/conditions.js';
import { Mutations } from '../http/mutation.js';
import { pageOf, readPageRequest } from '../http/page.js';
import { Context, type RequestContext } from '../http/request-context.js';
import { refuseOtherPlace } from '../read-only-fields.js';
import { notFound } from './tcp-edge.js';
import { CreateTcpEdgeBody, edgeInput, UpdateTcpEdgeBody } from './tcp-edges.bodies.js';
import { CreateTcpEdge, DeleteTcpEdge, UpdateTcpEdge } from './tcp-edges.commands.js';
import { TcpEdges, tcpEdgesReadModel } from './tcp-edges.read-model.js';
import { PATH, toResource } from './tcp-edges.resource.js';

@Controller(PATH)
export class TcpEdgesController {
  constructor(
    private readonly mutations: Mutations,
    private readonly edges: TcpEdges,
  ) {}

  @Post()
  create(
    @Context() context: RequestContext,
    @Body() body: CreateTcpEdgeBody,
    @Res({ passthrough: true }) reply: FastifyReply,
  ) {
    return this.execute(new CreateTcpEdge(context, edgeInput(body)), reply);
  }

  @Get()
  async list(@Context() { caller, baseUrl }: RequestContext, @Query() query: Record<string, unknown>) {
    const page = readPageRequest(query, 'edgtcp');
    const found = await this.edges.list(caller.accountId, page);
    return pageOf('tcp_edges', `${baseUrl}/${PATH}`, page, found, (entity) => toResource(entity, baseUrl));
  }

  @Get(':id')
  async get(
    @Context() { caller, baseUrl }: RequestContext,
    @Param('id') id: string,
    @Res({ passthrough: true }) reply: FastifyReply,
  ) {
    const entity = await this.edges.find({ accountId: caller.accountId, id });
    if (entity === undefined) throw notFound();
    tellVersion(reply, entity);
    return toResource(entity, baseUrl);
  }

  @Patch(':id')
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
